//! Keeps the log files that are open, and says which one to close for another.
//!
//! Invariant: the file closed is the one read longest ago among those not needed. Needed are files
//! without a name, and those in the middle of a long line. Only where all are needed, one of these
//! goes; a file without a name cannot be read on then.
//! `catalogue` keeps at most [`OPEN_MAX`] open by asking before each insertion. It keeps the log
//! whose turn it is.
//! Never here: opening files.

use super::log::LogId;
use super::unpack::OpenLog;

/// Files kept open; more are closed, and opened again when they grow.
pub(super) const OPEN_MAX: usize = 128;

/// The open files, in the order in which they were opened.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: Vec<(LogId, OpenLog)>,
}

/// What decides which file is closed for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Keeping {
    /// It has no name any more, or is in the middle of a long line.
    pub is_needed: bool,
    /// The turn in which it was read last.
    pub turn: u64,
}

impl OpenFiles {
    pub(super) fn get(&self, log: LogId) -> Option<&OpenLog> {
        self.files.iter().find(|(id, _)| *id == log).map(|(_, file)| file)
    }

    pub(super) fn get_mut(&mut self, log: LogId) -> Option<&mut OpenLog> {
        self.files.iter_mut().find(|(id, _)| *id == log).map(|(_, file)| file)
    }

    pub(super) fn contains(&self, log: LogId) -> bool {
        self.get(log).is_some()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (LogId, &mut OpenLog)> {
        self.files.iter_mut().map(|(log, file)| (*log, file))
    }

    /// Whether another one fits without closing any.
    pub(super) fn has_room(&self) -> bool {
        self.files.len() < OPEN_MAX
    }

    /// The log whose file should be closed for another, if there is no room. `keeping` tells how
    /// much each is wanted; none stands for one that must stay.
    pub(super) fn to_close(&self, keeping: impl Fn(LogId) -> Option<Keeping>) -> Option<LogId> {
        if self.has_room() {
            return None;
        }
        let idle = self.files.iter().filter_map(|(log, _)| Some((keeping(*log)?, *log)));
        idle.min_by_key(|(keeping, _)| *keeping).map(|(_, log)| log)
    }

    /// Keeps the open file of a log that had none.
    pub(super) fn insert(&mut self, log: LogId, file: OpenLog) {
        self.files.push((log, file));
    }

    /// Closes the file of a log, if it is open.
    pub(super) fn close(&mut self, log: LogId) {
        self.files.retain(|(id, _)| *id != log);
    }

    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }
}
