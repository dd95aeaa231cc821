//! Changes made while serving: rollout shares and the kill switch, kept in `data/live.toml`.
//!
//! They win over the configuration until they are cleared. The file is replaced whole, by rename;
//! one that cannot be read is set aside and an alarm raised, and the configuration stands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use gateway::{Gateway, Rollout};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// What was changed.
pub(crate) struct Live {
    file: PathBuf,
    gateway: Arc<Gateway>,
    changes: Mutex<Changes>,
    configured: BTreeMap<String, (f64, f64)>,
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

impl Live {
    /// Reads the changes kept under `root` and applies them.
    ///
    /// # Errors
    /// When a file that cannot be read cannot be set aside either.
    pub(crate) fn open(root: &Path, gateway: &Arc<Gateway>) -> Result<Self> {
        let file = root.join("data/live.toml");
        let changes = match std::fs::read_to_string(&file) {
            Ok(text) => match toml::from_str(&text) {
                Ok(changes) => changes,
                Err(error) => {
                    set_aside(&file, &error)?;
                    Changes::default()
                }
            },
            Err(_) => Changes::default(),
        };
        let configured = rollouts(gateway)
            .map(|(name, rollout)| {
                let shares = rollout.shares();
                (name.to_owned(), (shares.rollout, shares.hold_out))
            })
            .collect();
        let live =
            Self { file, gateway: Arc::clone(gateway), changes: Mutex::new(changes), configured };
        live.apply();
        Ok(live)
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
            Some(route) => anyhow::ensure!(!names.is_empty(), "no route `{route}` personalises"),
            None => anyhow::ensure!(!names.is_empty(), "no route personalises"),
        }
        let mut changes = self.changes.lock();
        let mut next = changes.clone();
        for name in names {
            edit(next.rollout.entry(name.to_owned()).or_default());
        }
        next.rollout.retain(|_, change| *change != Change::default());
        self.write(&next)?;
        *changes = next;
        drop(changes);
        self.apply();
        Ok(())
    }

    fn write(&self, changes: &Changes) -> Result<()> {
        let text = toml::to_string(changes).context("render the changes")?;
        let name = self.file.display();
        let dir = self.file.parent().context("the changes' folder")?;
        std::fs::create_dir_all(dir).with_context(|| format!("make the folder of `{name}`"))?;
        let draft = self.file.with_extension("toml.new");
        std::fs::write(&draft, text).with_context(|| format!("write `{name}`"))?;
        std::fs::File::open(&draft)?.sync_all().with_context(|| format!("sync `{name}`"))?;
        std::fs::rename(&draft, &self.file).with_context(|| format!("replace `{name}`"))
    }

    fn apply(&self) {
        let changes = self.changes.lock();
        for (name, rollout) in rollouts(&self.gateway) {
            let change = changes.rollout.get(name).copied().unwrap_or_default();
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

fn set_aside(file: &Path, error: &toml::de::Error) -> Result<()> {
    let aside = file.with_extension("toml.unreadable");
    tracing::error!(file = %file.display(), %error, "live changes set aside: unreadable");
    std::fs::rename(file, &aside).with_context(|| format!("set `{}` aside", file.display()))
}
