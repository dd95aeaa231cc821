//! Records the commands that `lab probe`, `lab bench` and `lab switch` run.
//!
//! Each command is one action, with the number of its runs as the result.
//!
//! The configuration named, or the `tidegate.toml` of the working directory, says where. Without
//! one, syslog alone gets them. A command that cannot be recorded is run, and that is said on
//! stderr, or it is refused, as `[audit] on_full` tells.
//! Invariant: a trail that is made here is for this user and its group (0750), as everywhere.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result};
use audit::{ActionRecorder, Actor, Begun, Options};

use crate::commands::USUAL_CONFIG;
use crate::hint::Hint;
use crate::{config, environment};

const SYSLOG: &str = "/dev/log";
const DIR_MODE: u32 = 0o750;
const REFUSED: Hint = Hint(
    "make room, or let this user write there; `[audit] on_full = \"serve\"` runs commands all the \
     same",
);

/// Commands that are about to be run.
#[derive(Debug)]
pub(super) struct Audited(Vec<Begun>);

impl Audited {
    /// Records commands before they are run.
    ///
    /// # Errors
    /// When they cannot be recorded, and are refused then, or the configuration is wrong.
    pub(super) fn begin(file: Option<&Path>, action: &str, commands: &[String]) -> Result<Self> {
        if commands.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let recorder = recorder(file)?;
        let uid = rustix::process::getuid().as_raw();
        let begin = |command: &String| {
            let who = Actor::process(uid, environment::sudo_user());
            let begun = recorder.begin(who, action, command).map_err(anyhow::Error::new);
            let begun = begun
                .context(REFUSED)
                .with_context(|| format!("record the command `{command}`"))?;
            if let Some(reason) = begun.unwritten() {
                crate::output::tell!(
                    "note: the command is not recorded: {}",
                    screen::clean(reason)
                );
            }
            Ok(begun)
        };
        commands.iter().map(begin).collect::<Result<_>>().map(Self)
    }

    /// Records how often each was run; those beyond the last count were not.
    pub(super) fn end(self, runs: &[u64], failure: Option<&anyhow::Error>) {
        for (at, begun) in self.0.into_iter().enumerate() {
            let counted = runs.get(at).filter(|runs| **runs > 0);
            let text = match (counted, failure) {
                (Some(1), _) => "done, 1 run".to_owned(),
                (Some(runs), _) => format!("done, {runs} runs"),
                (None, Some(error)) => format!("failed: {error:#}"),
                (None, None) => "done, no run".to_owned(),
            };
            begun.end(&text);
        }
    }
}

/// Returns the recorder of what is done by hand on this machine.
///
/// # Errors
/// When the configuration is wrong.
pub(crate) fn recorder(file: Option<&Path>) -> Result<ActionRecorder> {
    let Some(file) = named(file) else {
        return Ok(ActionRecorder::witness_only(SYSLOG.into()));
    };
    let options = config::audit_options(file)?;
    // The recorder says what keeps it from writing there.
    let _ = make_dir(&options);
    Ok(ActionRecorder::new(options))
}

/// Returns whether there is neither a configuration nor a syslog, so that nothing is recorded.
pub(crate) fn is_unrecorded(file: Option<&Path>) -> bool {
    named(file).is_none() && !Path::new(SYSLOG).exists()
}

/// The configuration that is named, or the usual one if it is there.
fn named(file: Option<&Path>) -> Option<&Path> {
    let usual = Path::new(USUAL_CONFIG);
    file.or_else(|| usual.is_file().then_some(usual))
}

fn make_dir(options: &Options) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(&options.dir)
}
