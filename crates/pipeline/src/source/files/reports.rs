//! Queues what is to be reported of the files, in order: lost bytes, receded logs, files that
//! cannot be read.
//!
//! Invariant: a reason why a file cannot be read is reported once in a row. Another reason, or the
//! same after the file could be read, is reported again. Empty ranges of lost bytes are not
//! reported.
//! Unbounded; the source hands reports out before it reads on. Never here: what counts as lost
//! (`scan`, `files`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::source::ReadOutcome;

/// Reports that were not handed out yet.
#[derive(Debug, Default)]
pub(super) struct Reports {
    waiting: VecDeque<Report>,
    /// The one handed out last.
    last: Option<Report>,
    /// Why each file cannot be read, as it was reported.
    unreadable: HashMap<PathBuf, String>,
    /// Packed files among them that are damaged or not whole.
    broken: HashSet<PathBuf>,
}

#[derive(Debug)]
enum Report {
    Lost { file: String, from: u64, to: u64 },
    Receded { file: String, from: u64, to: u64 },
    Changed { file: String, from: u64, to: u64 },
    Unreadable { file: String, reason: String },
}

impl Reports {
    /// Bytes of a file that cannot be read any more; none are none to report.
    pub(super) fn lost(&mut self, file: &str, from: u64, to: u64) {
        if from < to {
            let file = file.to_owned();
            self.waiting.push_back(Report::Lost { file, from, to });
        }
    }

    /// A file ends at `from`, and was read up to `to`.
    pub(super) fn receded(&mut self, file: &str, from: u64, to: u64) {
        let file = file.to_owned();
        self.waiting.push_back(Report::Receded { file, from, to });
    }

    /// A file has other bytes than those that were read, from `from` on; it is read from `to` on.
    pub(super) fn changed(&mut self, file: &str, from: u64, to: u64) {
        let file = file.to_owned();
        self.waiting.push_back(Report::Changed { file, from, to });
    }

    /// A packed file is damaged, or is being packed still.
    pub(super) fn broken(&mut self, path: &Path, damage: &str) {
        let reason = format!(
            "it is packed, and damaged or not whole ({damage}): none of it is counted before all \
             of it can be unpacked"
        );
        self.unreadable(path, reason);
        self.broken.insert(path.to_owned());
    }

    /// A packed file is damaged or not whole, and may be being written: it is known as unreadable,
    /// and not reported yet.
    pub(super) fn unfinished(&mut self, path: &Path, damage: &str) {
        let reason = format!("it is packed, and not whole yet ({damage}): none of it is counted");
        self.unreadable.insert(path.to_owned(), reason);
        self.broken.insert(path.to_owned());
    }

    /// Whether a packed file is there of which it is not known which log it has.
    pub(super) fn has_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    /// A file cannot be read at present.
    pub(super) fn unreadable(&mut self, path: &Path, reason: String) {
        if self.unreadable.get(path) != Some(&reason) {
            let file = path.display().to_string();
            self.waiting.push_back(Report::Unreadable { file, reason: reason.clone() });
            self.unreadable.insert(path.to_owned(), reason);
        }
    }

    /// The files that cannot be read at present, each with the reason.
    pub(super) fn all_unreadable(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.unreadable.iter().map(|(path, reason)| (&**path, &**reason))
    }

    /// A file can be read, or is gone.
    pub(super) fn settle(&mut self, path: &Path) {
        self.unreadable.remove(path);
        self.broken.remove(path);
    }

    /// Forgets what waits, and keeps what was reported of unreadable files.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next report.
    pub(super) fn next(&mut self) -> Option<ReadOutcome<'_>> {
        let report = self.last.insert(self.waiting.pop_front()?);
        Some(match &*report {
            Report::Lost { file, from, to } => ReadOutcome::Lost { file, from: *from, to: *to },
            Report::Receded { file, from, to } => {
                ReadOutcome::Receded { file, from: *from, to: *to }
            }
            Report::Changed { file, from, to } => {
                ReadOutcome::Changed { file, from: *from, to: *to }
            }
            Report::Unreadable { file, reason } => ReadOutcome::Unreadable { file, reason },
        })
    }
}

#[cfg(test)]
mod tests;
