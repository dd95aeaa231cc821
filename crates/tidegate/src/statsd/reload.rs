//! Reads the configuration of a statsd server again: when its file changes, or on SIGHUP.
//!
//! A file is read as a whole, as at a start. Invariant: a file with errors changes nothing, and
//! every error of it is said.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use generation::{FileVersion, Poll, Stop, Watcher};
use parking_lot::Mutex;
use signal_hook::consts::SIGHUP;
use statsd::{Shared, plan::Plan};

/// Makes a plan of what the file says by now.
pub(crate) type Read = Box<dyn Fn() -> Result<Plan> + Send + Sync>;

/// A file that is read again.
struct Reload {
    shared: Arc<Shared>,
    file: PathBuf,
    read: Read,
    was_told: Arc<AtomicBool>,
    seen: Mutex<Option<FileVersion>>,
}

/// Looks whether the file is another one than the one that was read, and for SIGHUP, until the
/// watcher is stopped.
///
/// # Errors
/// When the system has no thread left, or refuses the signal.
pub(super) fn watch(
    shared: &Arc<Shared>,
    (file, source): (PathBuf, Option<FileVersion>),
    read: Read,
) -> Result<Watcher> {
    let was_told = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, Arc::clone(&was_told)).context("take SIGHUP over")?;
    let seen = Mutex::new(source);
    let reload = Reload { shared: Arc::clone(shared), file, read, was_told, seen };
    Watcher::start(vec![Arc::new(reload)]).context("watch the configuration")
}

impl Poll for Reload {
    fn poll(&self) {
        let was_told = self.was_told.swap(false, Ordering::Relaxed);
        let has_changed = self.has_changed() && self.shared.plan().follows_file;
        if !was_told && !has_changed {
            return;
        }
        match (self.read)() {
            Ok(plan) => self.shared.reload(plan),
            Err(error) => {
                tracing::error!("the configuration was read again and stays as it was: {error:#}")
            }
        }
    }

    fn verify(&self, _stop: &Stop) {}
}

impl Reload {
    /// A file that is missing for a moment, while it is replaced, has not changed yet.
    fn has_changed(&self) -> bool {
        let Ok(source) = FileVersion::at(&self.file) else { return false };
        self.seen.lock().replace(source) != Some(source)
    }
}
