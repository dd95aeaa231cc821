//! Keeps what stays of the search for files from one scan to the next: the schedule, what other
//! nodes know, and refused files.
//!
//! A log that was emptied loses its file, and a scan is requested. Under `strict` that is an error,
//! and the file is refused until it has all of the log again. A log that was changed is an error
//! then, too.
//! Invariant: after `cut` the log has no file here, whether that is an error or not.
//! Never here: one look through the directories (`scan`), and what a file is (`identify`).

use std::collections::HashMap;
use std::path::PathBuf;

use stdx::FileIdentity;

use super::candidate::Candidate;
use super::catalogue::Catalogue;
use super::log::{Log, LogId};
use super::other_nodes::OtherNodes;
use super::schedule::ScanSchedule;
use crate::error::SourceError;

/// When to scan, what other nodes know, and which files may not be read.
#[derive(Default)]
pub(super) struct Scanner {
    pub schedule: ScanSchedule,
    pub others: OtherNodes,
    /// A log that was emptied or changed is an error.
    is_strict: bool,
    /// Under `strict`: files that held a log which they do not hold any more.
    refused: HashMap<FileIdentity, LogId>,
}

impl Scanner {
    pub(super) fn new(is_strict: bool) -> Self {
        Self { is_strict, ..Self::default() }
    }

    /// Begins anew with the logs of a position; under `strict` their files must hold them still.
    pub(super) fn reset(&mut self, catalogue: &Catalogue) {
        let hints = catalogue.logs.iter().filter_map(|(id, log)| Some((log.file.hint?, id)));
        self.refused = hints.filter(|_| self.is_strict).collect();
        self.schedule.request();
    }

    /// Takes the file from a log that was found emptied.
    ///
    /// # Errors
    /// Under `strict`; the file is refused from then on.
    pub(super) fn cut(&mut self, id: LogId, catalogue: &mut Catalogue) -> Result<(), SourceError> {
        catalogue.cut(id);
        self.schedule.request();
        let Some(log) = catalogue.logs.get(id) else { return Ok(()) };
        if self.is_strict {
            self.refused.extend(log.file.hint.map(|hint| (hint, id)));
        }
        self.check_change(log)
    }

    /// Whether a file has all of the log that it held. It has none without `content` that can be
    /// read.
    ///
    /// # Errors
    /// Under `strict`, when it lacks some of it.
    pub(super) fn check_kept(
        &self,
        file: &FileIdentity,
        content: Option<&mut Candidate>,
        catalogue: &mut Catalogue,
    ) -> Result<(), SourceError> {
        let log = self.refused.get(file).and_then(|id| catalogue.logs.get_mut(*id));
        let Some(log) = log else { return Ok(()) };
        let has_it = match content {
            Some(new) => new.has_all_of(log).map_err(SourceError::disk("read", &new.path))?,
            None => log.mark.offset == 0,
        };
        if !has_it {
            return Err(changed(log));
        }
        // It was restored, not begun anew.
        log.file.was_cut = false;
        Ok(())
    }

    /// Whether a log may be what it was not.
    ///
    /// # Errors
    /// Under `strict`.
    pub(super) fn check_change(&self, log: &Log) -> Result<(), SourceError> {
        if self.is_strict { Err(changed(log)) } else { Ok(()) }
    }
}

/// A log is not what it was when it was read.
fn changed(log: &Log) -> SourceError {
    SourceError::Changed { path: PathBuf::from(&log.file.name), offset: log.mark.offset }
}
