//! Keeps what an operator changed while the server runs, in `data/live.toml`, and applies it.
//!
//! It owns the rollout shares and kill switches of routes, which win over the configuration until
//! they are cleared.
//! Invariant: the file is replaced whole, by rename, before a change applies. Its contents are
//! synced but not its directory, so a power cut may bring the version before back.
//! A file that cannot be read leaves the configuration in force and raises an alarm. The next
//! change replaces that file, and what it held is lost. One with wrong content is set aside as
//! `live.toml.unreadable`; if that fails, the server does not start.
//! Files of earlier versions are read: a renamed field of [`Change`] would be passed over without
//! an error, and a kill switch lost. So would the whole file at another path, which
//! docs/operating/live-changes.md names. Changes are kept by the route's name. Those of routes that
//! are gone stay in the file, also after a clear.
//! Never here: whether a share is from 0 to 1, which `admin.rs` checks; a file edited by hand is
//! not checked.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use gateway::{Gateway, Rollout};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use stdx::plain_file;

/// What is read of the file at most; a change takes a hundred bytes.
const BYTES_MAX: u64 = 1 << 20;

/// The changes in force, and the gateway they apply to.
pub(crate) struct Overrides {
    file: PathBuf,
    gateway: Arc<Gateway>,
    state: Mutex<State>,
    /// Rollout and hold-out of the configuration, by route.
    configured: BTreeMap<String, (f64, f64)>,
}

/// What the file holds.
#[derive(Debug, Default)]
struct State {
    changes: Changes,
    /// The reason why the file was not used.
    alarm: Option<String>,
}

/// The file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Changes {
    /// By route.
    pub rollout: BTreeMap<String, Change>,
}

/// Changes to one route's rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Change {
    /// Share let in, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<f64>,
    /// Share held out, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_out: Option<f64>,
    /// The kill switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed: Option<bool>,
}

/// Returns the path of the file for a server whose relative paths start at `root`.
pub(crate) fn file(root: &Path) -> PathBuf {
    root.join("data/live.toml")
}

impl Overrides {
    /// Reads the changes kept under `root` and applies them.
    ///
    /// # Errors
    /// When a file with wrong content cannot be set aside.
    pub(crate) fn open(root: &Path, gateway: &Arc<Gateway>) -> Result<Self> {
        let file = file(root);
        let state = read(&file)?;
        Ok(Self::with(file, state, gateway))
    }

    /// Applies the changes kept under `root`, and leaves a file with wrong content where it is.
    ///
    /// # Errors
    /// When the file cannot be used; the configuration stands then.
    pub(crate) fn look(root: &Path, gateway: &Arc<Gateway>) -> Result<()> {
        let file = file(root);
        let name = file.display();
        let changes = match plain_file::read_text(&file, BYTES_MAX) {
            Ok(text) => toml::from_str(&text).with_context(|| format!("read `{name}`"))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Changes::default(),
            Err(error) => return Err(error).with_context(|| format!("read `{name}`")),
        };
        let state = State { changes, alarm: None };
        drop(Self::with(file.clone(), state, gateway));
        Ok(())
    }

    fn with(file: PathBuf, state: State, gateway: &Arc<Gateway>) -> Self {
        let state = Mutex::new(state);
        let configured = rollouts(gateway)
            .map(|(name, rollout)| {
                let shares = rollout.shares();
                (name.to_owned(), (shares.rollout, shares.hold_out))
            })
            .collect();
        let overrides = Self { file, gateway: Arc::clone(gateway), state, configured };
        overrides.apply();
        overrides
    }

    /// What an operator should look at.
    pub(crate) fn alarm(&self) -> Option<String> {
        self.state.lock().alarm.clone()
    }

    /// Changes one route's rollout, or every route's when `route` is `None`.
    ///
    /// # Errors
    /// When no such route personalises, or the file cannot be written; nothing is changed then.
    pub(crate) fn change(&self, route: Option<&str>, change: Change) -> Result<()> {
        self.update(route, |old| {
            old.rollout = change.rollout.or(old.rollout);
            old.hold_out = change.hold_out.or(old.hold_out);
            old.killed = change.killed.or(old.killed);
        })
    }

    /// Forgets the changes of one route, or of all: the configuration stands again.
    ///
    /// # Errors
    /// As for [`Self::change`].
    pub(crate) fn clear(&self, route: Option<&str>) -> Result<()> {
        self.update(route, |old| *old = Change::default())
    }

    fn update(&self, route: Option<&str>, edit: impl Fn(&mut Change)) -> Result<()> {
        let names: Vec<&str> = rollouts(&self.gateway)
            .map(|(name, _)| name)
            .filter(|name| route.is_none_or(|wanted| wanted == *name))
            .collect();
        match route {
            Some(route) => {
                anyhow::ensure!(!names.is_empty(), "no route `{route}` personalises; {}", {
                    let known: Vec<&str> = rollouts(&self.gateway).map(|(name, _)| name).collect();
                    chassis::config::there_is(&known)
                })
            }
            None => anyhow::ensure!(!names.is_empty(), "no route personalises"),
        }
        let mut state = self.state.lock();
        let mut next = state.changes.clone();
        for name in names {
            edit(next.rollout.entry(name.to_owned()).or_default());
        }
        next.rollout.retain(|_, change| *change != Change::default());
        self.write(&next)?;
        *state = State { changes: next, alarm: None };
        drop(state);
        self.apply();
        Ok(())
    }

    fn write(&self, changes: &Changes) -> Result<()> {
        let text = toml::to_string(changes).context("render the changes")?;
        let name = self.file.display();
        let dir = self.file.parent().context("the directory of the changes")?;
        std::fs::create_dir_all(dir).with_context(|| format!("make the directory of `{name}`"))?;
        let draft = self.file.with_extension("toml.new");
        let written = plain_file::create(&draft).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.with_context(|| format!("write `{name}`"))?;
        std::fs::rename(&draft, &self.file).with_context(|| format!("replace `{name}`"))
    }

    fn apply(&self) {
        let state = self.state.lock();
        for (name, rollout) in rollouts(&self.gateway) {
            let change = state.changes.rollout.get(name).copied().unwrap_or_default();
            let (share, hold_out) = self.configured.get(name).copied().unwrap_or_default();
            rollout.set_rollout(change.rollout.unwrap_or(share));
            rollout.set_hold_out(change.hold_out.unwrap_or(hold_out));
            rollout.set_killed(change.killed.unwrap_or(false));
        }
    }
}

/// The routes that personalise, with their rollouts.
pub(crate) fn rollouts(gateway: &Gateway) -> impl Iterator<Item = (&str, &Rollout)> {
    gateway.rollouts()
}

/// A share as operators write it.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

fn read(file: &Path) -> Result<State> {
    let name = file.display();
    let error = match plain_file::read_text(file, BYTES_MAX) {
        Ok(text) => match toml::from_str(&text) {
            Ok(changes) => return Ok(State { changes, alarm: None }),
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::default()),
        Err(error) if error.kind() == ErrorKind::InvalidData => error.to_string(),
        Err(error) => {
            tracing::error!(file = %name, %error, "overrides not read");
            let alarm = Some(format!("read `{name}`: {error}"));
            return Ok(State { alarm, ..State::default() });
        }
    };
    let aside = file.with_extension("toml.unreadable");
    std::fs::rename(file, &aside).with_context(|| format!("set `{name}` aside"))?;
    tracing::error!(file = %name, aside = %aside.display(), error, "overrides set aside");
    let alarm = format!("`{name}` is set aside as `{}`: {}", aside.display(), error.trim_end());
    Ok(State { alarm: Some(alarm), ..State::default() })
}

#[cfg(test)]
mod tests;
