//! Reads the configuration of a statsd server again: when its file changes, or on SIGHUP.
//!
//! The file is looked at every 200 ms, and read as a whole, as at a start. Changes count only where
//! the plan says `follows_file`; SIGHUP always does. A server whose file is gone before it is
//! looked at reads none later, and SIGHUP ends it.
//! Invariant: a file with errors changes nothing, and its errors are logged. A file that is missing
//! for a moment has not changed.
//! Never here: what a running server can change, which `ServerState::reload` decides and logs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use generation::{FileVersion, Poll, Stop, Watcher};
use parking_lot::Mutex;
use signal_hook::consts::SIGHUP;
use statsd::{ServerState, plan::Plan};

use crate::service_manager;
use crate::wrong_config::WrongConfig;

/// Makes a plan of what the file says by now.
type ReadPlan = Box<dyn Fn() -> Result<Plan> + Send + Sync>;

/// The file by which a server goes.
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// What the file was before it was read; none where it is gone.
    pub(crate) source: Option<FileVersion>,
    /// Reads it.
    pub(crate) read: ReadPlan,
}

/// A file that is read again.
struct Reload {
    state: Arc<ServerState>,
    path: PathBuf,
    read: ReadPlan,
    has_sighup: Arc<AtomicBool>,
    seen: Mutex<Option<FileVersion>>,
}

/// Whether SIGHUP came since this was last asked for.
pub(super) struct Sighup(Arc<AtomicBool>);

impl Sighup {
    /// Takes the signal over: before the server's ports answer, so that none is missed.
    ///
    /// # Errors
    /// When the system refuses the signal.
    pub(super) fn take_over() -> Result<Self> {
        let has_come = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, Arc::clone(&has_come)).context("take SIGHUP over")?;
        Ok(Self(has_come))
    }
}

/// Looks whether the file is another one than the one that was read, and for SIGHUP, until the
/// watcher is stopped.
///
/// # Errors
/// When the system has no thread left.
pub(super) fn watch(
    state: &Arc<ServerState>,
    file: ConfigFile,
    Sighup(has_sighup): Sighup,
) -> Result<Watcher> {
    let ConfigFile { path, source, read } = file;
    let seen = Mutex::new(source);
    let reload = Reload { state: Arc::clone(state), path, read, has_sighup, seen };
    Watcher::start(vec![Arc::new(reload)]).context("watch the configuration")
}

impl Poll for Reload {
    fn poll(&self) {
        let has_sighup = self.has_sighup.swap(false, Ordering::Relaxed);
        let has_changed = self.has_changed() && self.state.plan().follows_file;
        if !has_sighup && !has_changed {
            return;
        }
        service_manager::reloading(|| match (self.read)() {
            Ok(plan) => self.state.reload(plan),
            Err(error) => {
                let wrong = error.downcast_ref::<WrongConfig>();
                let error = wrong.map_or_else(|| format!("{error:#}"), WrongConfig::on_one_line);
                tracing::error!("the configuration was read again and stays as it was: {error}");
            }
        });
    }

    fn verify(&self, _stop: &Stop) {}
}

impl Reload {
    /// A file that is missing for a moment, while it is replaced, has not changed yet.
    fn has_changed(&self) -> bool {
        let Ok(source) = FileVersion::at(&self.path) else { return false };
        self.seen.lock().replace(source) != Some(source)
    }
}
