//! Lists log files that must be durable before a position in them may be committed.
//!
//! Invariant: it holds at most 256 files, each log once. One more is synced at once, which stalls
//! reading. If that fails, it is logged, and the position is committed all the same.
//! Packed files are left out, because nobody writes them any more. Never here: syncing the list
//! (`delivery`).

use std::sync::Arc;

use stdx::DiskFile;

use super::log::LogId;
use super::unpack::OpenLog;

/// Files that wait to be synced with the next position; one more is synced at once.
const UNSYNCED_MAX: usize = 256;

/// Files that were read since the last position.
#[derive(Default)]
pub(super) struct SyncList {
    files: Vec<(LogId, Arc<dyn DiskFile>)>,
}

impl SyncList {
    /// Notes that a log was read; packed files are not written any more.
    pub(super) fn note(&mut self, log: LogId, opened: &OpenLog) {
        let OpenLog::Plain(file) = opened else { return };
        if self.files.iter().any(|(other, _)| *other == log) {
            return;
        }
        if self.files.len() < UNSYNCED_MAX {
            self.files.push((log, Arc::clone(file)));
        } else if let Err(error) = file.sync() {
            tracing::error!(%error, "a log file cannot be made durable");
        }
    }

    /// The files, which are not noted any more.
    pub(super) fn take(&mut self) -> Vec<Arc<dyn DiskFile>> {
        std::mem::take(&mut self.files).into_iter().map(|(_, file)| file).collect()
    }

    pub(super) fn clear(&mut self) {
        self.files.clear();
    }
}
