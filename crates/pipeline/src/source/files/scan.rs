//! Looks once through the directories, and finds out which file carries which log.
//!
//! A file that was recognised, and neither renamed nor changed since, is not opened, but for a copy
//! whose log has lost its file. Any other is recognised by its content ([`identify`]), unless it is
//! the open file of a log. A copy of a log is left alone while the log's own file is whole. It goes
//! on with the log when that file is gone or emptied. Invariant: a log is dropped only when no
//! listed file has it. The listing must be complete and unchanged since, with at least one file,
//! and without a damaged pack. Its unread bytes are reported as lost. Whatever cannot be decided
//! yet is looked at again. Under `strict` a log that was emptied or changed ends the scan with an
//! error (`scanner`). Never here: when to scan (`schedule`), reading lines (`reader`).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::candidate::{Candidate, Opening, packed_mark_at};
use super::catalogue::Catalogue;
use super::file_table::{FileRecord, FileRole, ListedFile, Sighting};
use super::identify::{Evidence, Identification, identify};
use super::kinship::NamedFile;
use super::log::{FileKey, Log, LogId, NewCarrier, key_of};
use super::mark::{Mark, WINDOW, WindowedContent};
use super::options::FileOptions;
use super::patterns::Listing;
use super::reports::Reports;
use super::scanner::Scanner;
use super::turns::TurnQueue;
use super::unpack::{OpenLog, Packing};
use crate::error::SourceError;

/// A scan under way: what it works on, and what came of it so far.
pub(super) struct Scan<'s> {
    pub scanner: &'s mut Scanner,
    pub catalogue: &'s mut Catalogue,
    pub turns: &'s mut TurnQueue,
    pub reports: &'s mut Reports,
    pub options: &'s FileOptions,
    pub now: ScanTime,
    pub progress: ScanProgress,
}

/// What came of a scan so far.
#[derive(Debug, Default)]
pub(super) struct ScanProgress {
    /// Files that are a log's only up to a point.
    doubtful: Vec<ListedFile>,
    /// Something could not be told.
    is_incomplete: bool,
}

/// When a scan began, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanTime {
    pub monotonic: Instant,
    pub unix_us: u64,
}

impl Scan<'_> {
    pub(super) fn run(mut self) -> Result<(), SourceError> {
        let listing = list(&self);
        self.progress.is_incomplete = !listing.troubles.is_empty();
        for (path, error) in listing.troubles {
            self.reports.unreadable(&path, error.to_string());
        }
        let (seen, gone) = self.catalogue.files.observe(listing.files, self.now.monotonic);
        let fresh = self.note(seen);
        gone.iter().for_each(|record| self.note_gone(record));
        for file in in_order(&self, fresh) {
            self.look(&file, false)?;
        }
        // These may be what is left of a log, which is certain once each log's file is known.
        for file in std::mem::take(&mut self.progress.doubtful) {
            self.look(&file, true)?;
        }
        if self.catalogue.logs.iter().any(|(_, log)| log.file.carrier.is_none()) {
            self.try_copies()?;
            self.drop_orphans();
        }
        let logs = &self.catalogue.logs;
        self.turns.sort_by_key(|id| logs.get(id).map_or(0, |log| log.file.order_us));
        self.scanner.others.scanned();
        Ok(())
    }

    /// Notes what is there; returns what has to be looked at.
    fn note(&mut self, seen: Vec<Sighting>) -> Vec<ListedFile> {
        // The handle of a log that had no name keeps its inode from being used again.
        let left = self.catalogue.logs.iter().filter(|(_, log)| log.file.has_left);
        let left = left.filter_map(|(id, log)| Some((log.file.carrier?, id)));
        let left: HashMap<FileKey, LogId> = left.collect();
        let mut fresh = Vec::new();
        for sighting in seen {
            let key = sighting.file.key;
            let back = left.get(&key).filter(|_| sighting.is_new);
            let role = back.map_or(sighting.role, |id| FileRole::Carrier(*id));
            self.catalogue.files.set_role(key, role);
            if let FileRole::Carrier(id) = role {
                let is_renamed = sighting.is_new || sighting.is_moved;
                self.note_carrier(id, is_renamed.then_some(&*sighting.file.path));
            }
            if sighting.is_changed || sighting.is_moved {
                fresh.push(sighting.file);
            }
        }
        fresh
    }

    fn note_carrier(&mut self, id: LogId, new_path: Option<&Path>) {
        let Some(log) = self.catalogue.logs.get_mut(id) else { return };
        log.file.has_left = false;
        if let Some(path) = new_path {
            log.file.name = path.display().to_string();
            (log.file.is_rotated, log.file.grown) = (true, Some(self.now.monotonic));
            self.turns.linger(id);
        }
    }

    fn note_gone(&mut self, gone: &FileRecord) {
        self.reports.settle(&gone.path);
        let FileRole::Carrier(id) = gone.role else { return };
        let is_open = self.catalogue.open.contains(id);
        let Some(log) = self.catalogue.logs.get_mut(id) else { return };
        if is_open && !log.is_packed() {
            // The handle keeps it readable: it is drained until it is quiet.
            (log.file.has_left, log.file.is_rotated) = (true, true);
            log.file.grown = Some(self.now.monotonic);
            self.turns.wake(id);
            self.turns.linger(id);
        } else {
            log.file.carrier = None;
            self.catalogue.close(id);
        }
    }

    /// Finds out what a file is; `is_second_look` when all other files are known.
    fn look(&mut self, file: &ListedFile, is_second_look: bool) -> Result<(), SourceError> {
        let role = self.catalogue.files.get(file.key).map(|record| record.role);
        if let Some(FileRole::Carrier(id)) = role
            && self.still_carries(id, file)?
        {
            self.note_length(id, file.metadata.len);
            return Ok(());
        }
        let new = match Candidate::open(&*self.catalogue.disk, file) {
            Ok(Opening::Ready(new)) => *new,
            // The next scan sees it.
            Ok(Opening::Renamed) => {
                self.scanner.schedule.request();
                return Ok(());
            }
            Ok(Opening::Empty) => {
                self.scanner.check_kept(&file.metadata.identity, None, self.catalogue)?;
                self.catalogue.files.set_role(file.key, FileRole::Nothing);
                return Ok(());
            }
            Ok(Opening::Broken(damage)) => {
                self.scanner.check_kept(&file.metadata.identity, None, self.catalogue)?;
                self.broken(file, &damage);
                return Ok(());
            }
            Ok(Opening::NotRead(kind)) => {
                self.scanner.check_kept(&file.metadata.identity, None, self.catalogue)?;
                let reason = format!("it is packed by {kind}, which is not read");
                self.reports.unreadable(&file.path, reason);
                self.catalogue.files.set_role(file.key, FileRole::Nothing);
                return Ok(());
            }
            // Gone since it was listed, maybe to a name that was not listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.progress.is_incomplete = true;
                return Ok(());
            }
            Err(error) => {
                self.put_off(file, &error);
                return Ok(());
            }
        };
        if new.packing == Packing::Plain {
            self.reports.settle(&file.path);
        }
        match self.recognise(new, is_second_look) {
            Err(SourceError::Disk { reason, .. }) => {
                self.put_off(file, &reason);
                Ok(())
            }
            done => done,
        }
    }

    /// A packed file is damaged before its first byte.
    fn broken(&mut self, file: &ListedFile, damage: &str) {
        if is_young(self, file) {
            self.reports.unfinished(&file.path, damage);
            return self.undecided(file);
        }
        self.reports.broken(&file.path, damage);
        self.catalogue.files.set_role(file.key, FileRole::Nothing);
    }

    /// A file cannot be read at present.
    fn put_off(&mut self, file: &ListedFile, error: &io::Error) {
        self.reports.unreadable(&file.path, error.to_string());
        self.undecided(file);
    }

    /// Has a file looked at again by the next scan.
    fn undecided(&mut self, file: &ListedFile) {
        self.catalogue.files.set_role(file.key, FileRole::Unknown);
        self.progress.is_incomplete = true;
    }

    /// Whether a file that changed has the log still that was read from it. Without an open
    /// handle its inode may have been used again.
    fn still_carries(&mut self, id: LogId, file: &ListedFile) -> Result<bool, SourceError> {
        let Some(log) = self.catalogue.logs.get(id) else { return Ok(false) };
        if matches!(self.catalogue.open.get(id), Some(OpenLog::Plain(_))) {
            return Ok(true);
        }
        if log.file.hint != Some(file.metadata.identity) {
            self.catalogue.release(id);
            return Ok(false);
        }
        if log.is_packed() {
            let packed = packed_mark_at(&*self.catalogue.disk, Path::new(&log.file.name));
            let is_same = packed.is_some() && packed == log.packed;
            if !is_same {
                self.catalogue.close(id);
                self.catalogue.release(id);
            }
            return Ok(is_same);
        }
        Ok(log.mark.offset == 0 || !self.is_free(id)?)
    }

    fn note_length(&mut self, id: LogId, len: u64) {
        let Some(log) = self.catalogue.logs.get_mut(id) else { return };
        if !log.is_packed() {
            if len != log.file.len {
                log.file.grown = Some(self.now.monotonic);
            }
            log.file.len = len;
            self.turns.wake(id);
        }
    }

    /// Finds the log that a file has, and what becomes of the file.
    fn recognise(&mut self, mut new: Candidate, is_second_look: bool) -> Result<(), SourceError> {
        let identity = new.metadata.identity;
        self.scanner.check_kept(&identity, Some(&mut new), self.catalogue)?;
        if new.opened.damage().is_some() && new.head.len() < WINDOW && is_young(self, &new.listed())
        {
            // It is being packed still, and what is there says too little.
            self.reports.unfinished(&new.path, new.opened.damage().unwrap_or_default());
            self.undecided(&new.listed());
            return Ok(());
        }
        let packed = new.packed_log(&self.catalogue.logs).map_err(disk(&new.path))?;
        match packed {
            Some(id) if self.catalogue.lacks_carrier(id) => {
                self.carry(id, new, false);
                return Ok(());
            }
            Some(id) if may_copy(self, id, &new) => {
                self.copy(id, &new);
                return Ok(());
            }
            _ => {}
        }
        let suspects = new.suspects(&self.catalogue.logs).map_err(disk(&new.path))?;
        let mut evidence = FileEvidence { scan: self, new: &mut new };
        match identify(&suspects, is_second_look, &mut evidence)? {
            Identification::Carrier(id) => {
                // It was not known by its own bytes, so it may have more than was read.
                if new.packing != Packing::Plain {
                    self.catalogue.logs.repacked(id);
                }
                self.carry(id, new, false);
            }
            Identification::Copy(id) => self.copy(id, &new),
            Identification::Receded(id) => self.go_on_behind_loss(id, new, None)?,
            Identification::Changed(id, from) => self.go_on_behind_loss(id, new, Some(from))?,
            Identification::Undecided => self.undecided(&new.listed()),
            Identification::Doubtful => self.progress.doubtful.push(new.listed()),
            Identification::Unfamiliar => self.unfamiliar(new)?,
        }
        Ok(())
    }

    /// Whether a log has no file that it can be read from. One whose file does not hold it any
    /// more has none.
    fn is_free(&mut self, id: LogId) -> Result<bool, SourceError> {
        if self.catalogue.lacks_carrier(id) {
            return Ok(true);
        }
        if !self.catalogue.open(id, self.reports)? {
            return Ok(self.catalogue.lacks_carrier(id));
        }
        let Some((log, opened)) = self.catalogue.opened(id) else { return Ok(false) };
        if log.mark.offset == 0 {
            return Ok(false);
        }
        let window = opened.window(log.mark.offset);
        let window = window.map_err(disk(Path::new(&log.file.name)))?;
        let is_whole = window.is_some_and(|window| log.mark.fits(&window));
        if !is_whole {
            self.turns.end();
            self.catalogue.current = None;
            self.scanner.cut(id, self.catalogue)?;
        }
        Ok(!is_whole)
    }

    /// Goes on with a log in what is left of its file, where that ends. Where other bytes stand
    /// from the offset `changed_from` on, it goes on with the next line behind what was read.
    fn go_on_behind_loss(
        &mut self,
        id: LogId,
        mut new: Candidate,
        changed_from: Option<u64>,
    ) -> Result<(), SourceError> {
        let listed = new.listed();
        let Some(log) = self.catalogue.logs.get(id) else { return Ok(()) };
        let (offset, seen) = (log.mark.offset, log.seen);
        let end = new.opened.content_len().map_err(disk(&new.path))?;
        self.scanner.check_change(log)?;
        let to = match changed_from {
            None => end,
            Some(_) => new.line_start(end.min(offset)).map_err(disk(&new.path))?,
        };
        let marked = Mark::measure(&mut new.opened, to).map_err(disk(&new.path))?;
        let Some(marked) = marked else {
            self.undecided(&listed);
            return Ok(());
        };
        let name = new.path.display().to_string();
        match changed_from {
            None => self.reports.receded(&name, to, offset),
            Some(from) => self.reports.changed(&name, from, to),
        }
        self.reports.lost(&name, offset, seen);
        self.catalogue.files.set_role(new.key, FileRole::Unknown);
        self.catalogue.logs.change(id, |log| {
            log.file.was_cut = false;
            (log.seen, log.mark) = (marked.offset, marked);
        });
        // It is the log's again; recognised by what it has by now.
        self.look(&listed, false)
    }

    /// A file with the content of no log that is known here.
    fn unfamiliar(&mut self, mut new: Candidate) -> Result<(), SourceError> {
        let is_any_free = self.catalogue.logs.iter().any(|(_, log)| log.file.carrier.is_none());
        if is_any_free && !new.opened.is_sound().map_err(disk(&new.path))? {
            // It may have one of these, and says something else.
            self.reports.broken(&new.path, new.opened.damage().unwrap_or_default());
            self.catalogue.files.set_role(new.key, FileRole::Nothing);
            return Ok(());
        }
        if !self.scanner.others.want_fresh() {
            self.undecided(&new.listed());
            return Ok(());
        }
        let mark = self.scanner.others.mark_of(&mut new);
        let mut log = Log::new(mark.map_err(disk(&new.path))?.unwrap_or_default());
        let key = Mark::keys_of(&new.head).next().unwrap_or_default();
        log.unread = (key, Mark::short_key_of(&new.head));
        let id = self.catalogue.logs.add(log);
        self.carry(id, new, true);
        Ok(())
    }

    /// Reads a log from a file from here on.
    fn carry(&mut self, id: LogId, new: Candidate, is_first: bool) {
        let time = self.options.time_of.as_ref().and_then(|time_of| time_of(new.first_line()));
        let carrier = NewCarrier {
            name: new.path.display().to_string(),
            identity: new.metadata.identity,
            packing: new.packing,
            len: new.metadata.len,
            order_us: time.unwrap_or(new.metadata.modified_us),
            is_first,
        };
        let lost = self.catalogue.carry(id, carrier, self.now.monotonic);
        self.reports.lost(&new.path.display().to_string(), lost.start, lost.end);
        if self.catalogue.logs.get(id).is_none_or(Log::rests) {
            return self.reports.settle(&new.path);
        }
        if new.packing == Packing::Plain && self.catalogue.open.has_room() {
            self.catalogue.keep_open(id, new.opened);
        }
        self.turns.wake(id);
    }

    /// A file has nothing that the log's own file does not have. That is said, since it is not
    /// counted.
    fn copy(&mut self, id: LogId, new: &Candidate) {
        let role = FileRole::Copy(id);
        let is_known = self.catalogue.files.get(new.key).is_some_and(|known| known.role == role);
        self.catalogue.files.set_role(new.key, role);
        match new.opened.damage() {
            Some(damage) if self.catalogue.lacks_carrier(id) => {
                self.reports.broken(&new.path, damage);
            }
            _ => self.reports.settle(&new.path),
        }
        if let Some(log) = self.catalogue.logs.get(id).filter(|_| !is_known) {
            let (file, copy_of) = (new.path.display(), &log.file.name);
            tracing::info!(%file, copy_of, "a file counts as a copy, and is not read");
        }
    }

    /// Lets copies go on with logs that have lost their file.
    fn try_copies(&mut self) -> Result<(), SourceError> {
        let copies = self.catalogue.files.iter().filter_map(|(key, record)| match record.role {
            FileRole::Copy(id) if self.catalogue.lacks_carrier(id) => {
                let (path, metadata) = (record.path.clone(), record.metadata);
                Some(ListedFile { key, path, metadata })
            }
            _ => None,
        });
        for file in copies.collect::<Vec<_>>() {
            self.look(&file, false)?;
        }
        Ok(())
    }

    /// Drops logs that no file has, once it is certain that none has them.
    fn drop_orphans(&mut self) {
        // What is in a damaged pack may be one of them, and the pack may be mended.
        let is_certain = !self.progress.is_incomplete
            && !self.reports.has_broken()
            && is_settled(self)
            && !self.catalogue.files.is_empty()
            && !self.scanner.schedule.is_requested();
        if !is_certain {
            return;
        }
        let copied = self.catalogue.files.iter().filter_map(|(_, record)| match record.role {
            FileRole::Copy(id) => Some(id),
            _ => None,
        });
        let copied: HashSet<LogId> = copied.collect();
        let orphans = self.catalogue.logs.iter();
        let orphans =
            orphans.filter(|(id, log)| log.file.carrier.is_none() && !copied.contains(id));
        for id in orphans.map(|(id, _)| id).collect::<Vec<_>>() {
            self.catalogue.close(id);
            if let Some(log) = self.catalogue.logs.remove(id) {
                self.reports.lost(&log.file.name, log.mark.offset, log.seen);
            }
        }
    }
}

fn list(scan: &Scan<'_>) -> Listing {
    let mut listing = Listing::default();
    for pattern in &scan.options.files {
        pattern.list(&*scan.catalogue.disk, &mut listing);
    }
    listing
}

/// Puts files first that carried a log when it was read last, then the longer before the
/// shorter. So of two files with the same content the one that goes on carries the log.
fn in_order(scan: &Scan<'_>, mut files: Vec<ListedFile>) -> Vec<ListedFile> {
    let logs = scan.catalogue.logs.iter();
    let lost = logs.filter(|(_, log)| log.file.carrier.is_none());
    let hints: HashSet<_> = lost.filter_map(|(_, log)| log.file.hint).collect();
    files.sort_by_cached_key(|file| {
        let is_packed = file.path.extension().is_some_and(|end| end == "gz" || end == "zst");
        let is_hinted = hints.contains(&file.metadata.identity);
        (!is_hinted, is_packed, Reverse(file.metadata.len), file.path.clone())
    });
    files
}

/// Whether a file may still be written: its date is near, and it was seen to change lately. So
/// a date in the future, as after a clock was set back, holds nothing up for long.
fn is_young(scan: &Scan<'_>, new: &ListedFile) -> bool {
    let idle_timeout = scan.options.idle_timeout;
    let age = Duration::from_micros(scan.now.unix_us.saturating_sub(new.metadata.modified_us));
    let record = scan.catalogue.files.get(new.key);
    let rested = record.map(|record| scan.now.monotonic - record.changed);
    age < idle_timeout && rested.is_none_or(|rested| rested < idle_timeout)
}

/// Whether a file may be a copy of a log's own, by their names and by what was seen of it.
fn may_copy(scan: &Scan<'_>, id: LogId, new: &Candidate) -> bool {
    let Some(log) = scan.catalogue.logs.get(id) else { return false };
    // Positions have no names of logs that were read to their end.
    if log.file.name.is_empty() {
        return true;
    }
    let is_packed = new.packing != Packing::Plain;
    let record = scan.catalogue.files.get(new.key);
    if !is_packed && record.is_some_and(|record| record.grew_again) {
        return false;
    }
    let old = NamedFile { path: Path::new(&log.file.name) };
    NamedFile { path: &new.path }.may_copy(old, &*scan.catalogue.disk)
}

/// Whether the directories still are as they were listed, but for the files that logs are read
/// from. Otherwise a log may be in a file that got its name or its content while we looked.
fn is_settled(scan: &Scan<'_>) -> bool {
    let listing = list(scan);
    let is_known = |meta: &stdx::Metadata| {
        scan.catalogue.files.get(key_of(&meta.identity)).is_some_and(|known| {
            matches!(known.role, FileRole::Carrier(_)) || known.metadata == *meta
        })
    };
    listing.troubles.is_empty() && listing.files.iter().all(|(_, meta)| is_known(meta))
}

/// A file beside the logs that it may have: reads only what the decision depends on.
struct FileEvidence<'c, 's> {
    scan: &'c mut Scan<'s>,
    new: &'c mut Candidate,
}

impl Evidence for FileEvidence<'_, '_> {
    fn is_free(&mut self, log: LogId) -> Result<bool, SourceError> {
        self.scan.is_free(log)
    }

    fn is_copy(&mut self, log: LogId) -> Result<Option<bool>, SourceError> {
        let Self { scan, new } = self;
        if !scan.catalogue.open(log, scan.reports)? {
            return Ok(None);
        }
        let Some((log, opened)) = scan.catalogue.opened(log) else { return Ok(None) };
        let end = new.opened.content_len().map_err(disk(&new.path))?;
        let theirs = new.opened.window(end).map_err(disk(&new.path))?;
        let ours = opened.window(end).map_err(disk(Path::new(&log.file.name)))?;
        Ok(Some(ours.is_some() && ours == theirs))
    }

    fn may_copy(&self, log: LogId) -> bool {
        may_copy(self.scan, log, self.new)
    }

    fn is_damaged(&self) -> bool {
        self.new.opened.damage().is_some()
    }

    fn is_same_file(&self, log: LogId) -> bool {
        let log = self.scan.catalogue.logs.get(log);
        log.is_some_and(|log| log.file.hint == Some(self.new.metadata.identity))
    }
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> SourceError {
    SourceError::disk("read", path)
}
