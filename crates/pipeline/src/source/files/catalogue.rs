//! Joins the logs that are known, the files that carry them, and the handles that are open.
//!
//! It opens, releases and hands over carriers, and finds open files whose length has changed.
//! Invariant: a file has the role of a carrier exactly where it is the `carrier` of that log. Only
//! a log's own carrier is open for it. `carry`, `release` and `cut` change both together. `scan`
//! and `files` take the carrier from a log only when its file is not in the table.
//! Never here: which file carries which log (`identify`), and the bound of open files
//! (`open_files`).

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use stdx::Disk;

use super::file_table::{FileRole, FileTable};
use super::log::{Log, LogId, NewCarrier, key_of};
use super::logs::Logs;
use super::mark::WindowedContent;
use super::open_files::{Keeping, OpenFiles};
use super::reports::Reports;
use super::unpack::OpenLog;
use crate::error::SourceError;

/// Logs, files and handles.
pub(super) struct Catalogue {
    pub disk: Arc<dyn Disk>,
    pub logs: Logs,
    pub files: FileTable,
    pub open: OpenFiles,
    /// The log whose turn it is, which stays open.
    pub current: Option<LogId>,
}

impl Catalogue {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Self {
        let (logs, files, open) = (Logs::default(), FileTable::default(), OpenFiles::default());
        Self { disk, logs, files, open, current: None }
    }

    /// Knows these logs and no file any more.
    pub(super) fn reset(&mut self, logs: Logs) {
        self.logs = logs;
        self.files.clear();
        self.open.clear();
        self.current = None;
    }

    /// Opens the file of a log, unless it is open. False when it is not there under its last name.
    /// One that cannot be opened is reported, and is the log's no more.
    ///
    /// # Errors
    /// When what is in it cannot be unpacked.
    pub(super) fn open(&mut self, id: LogId, reports: &mut Reports) -> Result<bool, SourceError> {
        if self.open.contains(id) {
            return Ok(true);
        }
        let Some(log) = self.logs.get(id) else { return Ok(false) };
        let Some(carrier) = log.file.carrier else { return Ok(false) };
        let path = Path::new(&log.file.name);
        let file = self.disk.open_read(path).and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = match file {
            Ok(file) => file,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    reports.unreadable(path, error.to_string());
                    self.release(id);
                }
                return Ok(false);
            }
        };
        if key_of(&found.identity) != carrier {
            // It was renamed since it was listed; the next scan knows where it is.
            return Ok(false);
        }
        let opened =
            OpenLog::new(&file, log.file.packing).map_err(SourceError::disk("open", path))?;
        self.keep_open(id, opened);
        Ok(true)
    }

    /// Keeps the open file of a log; another one is closed where there is no room.
    pub(super) fn keep_open(&mut self, id: LogId, opened: OpenLog) {
        let keeping = |log| {
            let known = self.logs.get(log).filter(|_| self.current != Some(log))?;
            let is_needed = known.file.has_left || known.searched.is_some();
            Some(Keeping { is_needed, turn: known.turn })
        };
        if let Some(idle) = self.open.to_close(keeping) {
            self.open.close(idle);
        }
        if self.logs.get(id).is_some() {
            self.open.insert(id, opened);
        }
    }

    /// Closes the file of a log.
    pub(super) fn close(&mut self, id: LogId) {
        self.open.close(id);
    }

    /// Takes a log's file from it; the next scan finds out whose it is.
    pub(super) fn release(&mut self, id: LogId) {
        let carrier = self.logs.get_mut(id).and_then(|log| log.file.carrier.take());
        if let Some(carrier) = carrier {
            self.files.set_role(carrier, FileRole::Unknown);
        }
    }

    /// Gives a file to a log; returns the bytes that were there and are not in this one.
    pub(super) fn carry(&mut self, id: LogId, new: NewCarrier, now: Instant) -> Range<u64> {
        self.files.set_role(key_of(&new.identity), FileRole::Carrier(id));
        self.logs.get_mut(id).map_or(0..0, |log| log.move_to(new, now))
    }

    /// A log's bytes are not in its file any more: the file was emptied.
    pub(super) fn cut(&mut self, id: LogId) {
        self.close(id);
        self.release(id);
        if let Some(log) = self.logs.get_mut(id) {
            log.file.was_cut = true;
            log.searched = None;
        }
    }

    /// A log with its open file.
    pub(super) fn opened(&mut self, id: LogId) -> Option<(&mut Log, &mut OpenLog)> {
        Some((self.logs.get_mut(id)?, self.open.get_mut(id)?))
    }

    /// Whether no file is known that the log is read from.
    pub(super) fn lacks_carrier(&self, id: LogId) -> bool {
        self.logs.get(id).is_none_or(|log| log.file.carrier.is_none())
    }

    /// The files that count as copies, each with the file that is read in its place. A log whose
    /// file has left has no name any more: another file may have it by now.
    pub(super) fn copies(&self) -> BTreeMap<String, String> {
        let copies = self.files.iter().filter_map(|(_, record)| {
            let FileRole::Copy(id) = record.role else { return None };
            let log = self.logs.get(id).filter(|log| !log.file.has_left)?;
            Some((record.path.display().to_string(), log.file.name.clone()))
        });
        copies.collect()
    }

    /// The logs whose open file has another length than it had. A log that was not emptied when its
    /// file had that length is known to be that long.
    pub(super) fn grown(&mut self, now: Instant) -> Vec<LogId> {
        let mut grown = Vec::new();
        for (id, opened) in self.open.iter_mut() {
            let Some(log) = self.logs.get_mut(id) else { continue };
            let OpenLog::Plain(file) = &*opened else { continue };
            let Ok(length) = file.len() else { continue };
            if length == log.file.len {
                continue;
            }
            (log.file.len, log.file.grown) = (length, Some(now));
            let window = opened.window(log.mark.offset).ok().flatten();
            if window.is_some_and(|window| log.mark.fits(&window)) {
                log.seen = log.seen.max(length);
            }
            grown.push(id);
        }
        grown
    }
}
