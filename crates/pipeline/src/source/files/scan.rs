//! Finds out which file carries which log.
//!
//! A file that has neither been renamed nor grown nor touched since the last scan is not opened.
//! Any other is recognised by its content. A file with the content of a log that another file
//! carries is a copy: it is left alone while that file is whole, and goes on with the log when
//! that file is gone or emptied. Whatever cannot be decided yet is looked at again.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use stdx::{DiskFile, Metadata};

use super::logs::{FileKey, Log, LogId, key_of};
use super::mark::{Content, Mark, Relation, WINDOW, hash};
use super::patterns::Listing;
use super::unpack::{Opened, Packing};
use super::{FileSource, OPEN_MAX, Report, changed};
use crate::error::SourceError;

/// A file that is there.
pub(super) struct Found {
    path: PathBuf,
    found: Metadata,
    role: Role,
    round: u64,
    /// When it was found, or found changed.
    changed: Instant,
}

/// What a file is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Not known yet, or not any more.
    Open,
    /// It has no bytes yet, or is packed in a way that is not read.
    Nothing,
    /// A log is read from it.
    Carrier(LogId),
    /// It has what a log has that is read from another file.
    Copy(LogId),
}

impl Found {
    /// Its length, where it is not known yet whose it is.
    pub(super) fn unknown_bytes(&self) -> u64 {
        if self.role == Role::Open { self.found.len } else { 0 }
    }

    /// Has the file looked at again.
    pub(super) fn forget(&mut self) {
        self.role = Role::Open;
    }
}

/// A file to be looked at.
pub(super) type Fresh = (FileKey, PathBuf, Metadata);

/// A file that is being recognised.
struct Candidate {
    key: FileKey,
    path: PathBuf,
    found: Metadata,
    file: Arc<dyn DiskFile>,
    packing: Packing,
    opened: Opened,
    /// The first bytes of the content.
    head: Vec<u8>,
}

/// Length and last hash of a packed file's own bytes, which end in a checksum of the content.
pub(super) fn packed_mark(file: &Arc<dyn DiskFile>) -> io::Result<Option<(u64, u64)>> {
    let length = file.len()?;
    let window = Opened::Plain(Arc::clone(file)).window(length)?;
    Ok(window.map(|window| (length, hash(&window))))
}

impl FileSource {
    /// Looks through the folders.
    pub(super) fn scan(&mut self) -> Result<(), SourceError> {
        self.round += 1;
        let mut listing = Listing::default();
        for pattern in &self.options.files {
            pattern.list(&*self.disk, &mut listing);
        }
        let mut is_complete = listing.troubles.is_empty();
        for (path, error) in listing.troubles {
            self.trouble(path, error.to_string());
        }
        let fresh = self.note(listing.files);
        self.note_absent();
        for (key, path, found) in self.in_order(fresh) {
            is_complete &= self.look(key, &path, found)?;
        }
        // These may be what is left of a log, which is certain once each log's file is known.
        for (key, path, found) in std::mem::take(&mut self.doubtful) {
            is_complete &= self.look_closely(key, &path, found)?;
        }
        if self.logs.iter().any(|(_, log)| log.carrier.is_none()) {
            is_complete &= self.try_copies()?;
            self.drop_orphans(is_complete && self.is_settled());
        }
        let mut queue: Vec<LogId> = self.queue.drain(..).collect();
        queue.sort_by_key(|id| self.logs.get(*id).map_or(0, |log| log.order_us));
        self.queue = queue.into();
        if !self.wants_foreign {
            self.foreign_is_fresh = false;
        }
        Ok(())
    }

    /// Puts files first that carried a log when it was read last, then the longer before the
    /// shorter: so that of two files with the same content the one that goes on carries the log.
    fn in_order(&self, mut files: Vec<Fresh>) -> Vec<Fresh> {
        let lost = self.logs.iter().filter(|(_, log)| log.carrier.is_none());
        let hints: HashSet<_> = lost.filter_map(|(_, log)| log.hint).collect();
        files.sort_by_cached_key(|(_, path, found)| {
            let is_packed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
            (
                !hints.contains(&found.identity),
                is_packed,
                std::cmp::Reverse(found.len),
                path.clone(),
            )
        });
        files
    }

    /// Notes what is there; returns what has to be looked at.
    fn note(&mut self, mut files: Vec<(PathBuf, Metadata)>) -> Vec<Fresh> {
        let (mut fresh, now) = (Vec::new(), self.clock.now());
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (path, meta) in files {
            let key = key_of(&meta.identity);
            let Some(known) = self.found.get_mut(&key) else {
                // The handle of a log that had no name keeps its inode from being used again.
                let has_this = |log: &Log| log.has_left && log.carrier == Some(key);
                let back =
                    self.lingering.iter().find(|id| self.logs.get(**id).is_some_and(has_this));
                let role = back.map_or(Role::Open, |id| Role::Carrier(*id));
                if let Role::Carrier(id) = role {
                    self.note_carrier(id, Some(&path));
                }
                let (round, changed) = (self.round, now);
                let found = Found { path: path.clone(), found: meta, role, round, changed };
                self.found.insert(key, found);
                fresh.push((key, path, meta));
                continue;
            };
            if known.round == self.round {
                // Another name of the same file.
                continue;
            }
            known.round = self.round;
            let is_moved = known.path != path;
            if known.found != meta {
                known.changed = now;
            }
            let is_changed = known.found != meta || known.role == Role::Open;
            known.found = meta;
            let role = known.role;
            if is_moved {
                known.path.clone_from(&path);
            }
            if let Role::Carrier(id) = role {
                self.note_carrier(id, is_moved.then_some(&*path));
            }
            if is_changed || is_moved {
                fresh.push((key, path, meta));
            }
        }
        fresh
    }

    fn note_carrier(&mut self, id: LogId, new_path: Option<&Path>) {
        let now = self.clock.now();
        let Some(log) = self.logs.get_mut(id) else { return };
        log.has_left = false;
        if let Some(path) = new_path {
            log.name = path.display().to_string();
            (log.is_rotated, log.grown) = (true, Some(now));
            self.linger(id);
        }
    }

    fn note_absent(&mut self) {
        let (round, now) = (self.round, self.clock.now());
        let gone: Vec<_> = self.found.extract_if(|_, found| found.round != round).collect();
        for (_, found) in gone {
            self.troubles.remove(&found.path);
            let Role::Carrier(id) = found.role else { continue };
            let Some(log) = self.logs.get_mut(id) else { continue };
            if log.open.is_some() && log.packing == Packing::Plain {
                // The handle keeps it readable: it is drained until it is quiet.
                (log.has_left, log.is_rotated, log.grown) = (true, true, Some(now));
                self.wake(id);
                self.linger(id);
            } else {
                log.carrier = None;
                self.close(id);
            }
        }
    }

    /// Finds out what a file is; false when that cannot be told yet.
    fn look(&mut self, key: FileKey, path: &Path, found: Metadata) -> Result<bool, SourceError> {
        self.look_with(key, path, found, false)
    }

    /// Finds out what a file is that is a log's only up to a point.
    fn look_closely(
        &mut self,
        key: FileKey,
        path: &Path,
        found: Metadata,
    ) -> Result<bool, SourceError> {
        self.look_with(key, path, found, true)
    }

    fn look_with(
        &mut self,
        key: FileKey,
        path: &Path,
        found: Metadata,
        is_close: bool,
    ) -> Result<bool, SourceError> {
        if let Some(Role::Carrier(id)) = self.found.get(&key).map(|found| found.role)
            && self.still_carries(id, &found)?
        {
            self.look_at_carrier(id, found);
            return Ok(true);
        }
        let candidate = match self.candidate(key, path) {
            Ok(Some(candidate)) => candidate,
            Ok(None) => return Ok(true),
            // Gone since it was listed, maybe to a name that was not listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => {
                self.trouble(path.to_owned(), error.to_string());
                self.become_role(key, Role::Open);
                return Ok(false);
            }
        };
        self.troubles.remove(path);
        let path = candidate.path.clone();
        self.recognise(candidate, is_close).or_else(|error| match error {
            SourceError::Disk { cause, .. } => {
                self.trouble(path, cause.to_string());
                self.become_role(key, Role::Open);
                Ok(false)
            }
            other => Err(other),
        })
    }

    /// Whether a file that changed has the log still that was read from it. Without an open
    /// handle its inode may have been used again.
    fn still_carries(&mut self, id: LogId, found: &Metadata) -> Result<bool, SourceError> {
        let Some(log) = self.logs.get(id) else { return Ok(false) };
        if matches!(log.open, Some(Opened::Plain(_))) {
            return Ok(true);
        }
        if log.hint != Some(found.identity) {
            self.unsettle(id);
            return Ok(false);
        }
        if log.packing != Packing::Plain {
            let file = self.disk.open_read(Path::new(&log.name));
            let packed = file.and_then(|file| packed_mark(&file)).ok().flatten();
            let is_same = packed.is_some() && packed == log.packed;
            if !is_same {
                self.close(id);
                self.unsettle(id);
            }
            return Ok(is_same);
        }
        if log.mark.offset == 0 {
            return Ok(true);
        }
        Ok(!self.is_free(id)?)
    }

    fn look_at_carrier(&mut self, id: LogId, found: Metadata) {
        let now = self.clock.now();
        let Some(log) = self.logs.get_mut(id) else { return };
        if log.packing == Packing::Plain {
            if found.len != log.len {
                log.grown = Some(now);
            }
            log.len = found.len;
            self.wake(id);
        }
    }

    /// Opens a file; none when it has nothing to be recognised by.
    fn candidate(&mut self, key: FileKey, path: &Path) -> io::Result<Option<Candidate>> {
        let file = self.disk.open_read(path)?;
        let found = file.metadata()?;
        if key_of(&found.identity) != key {
            // Renamed meanwhile: the next scan sees it.
            self.scan_is_due = true;
            return Ok(None);
        }
        let mut start = [0; 8];
        let read = file.read_at(&mut start, 0)?;
        let packing = Packing::of(&start[..read]);
        let mut head = Vec::new();
        let mut opened = Opened::new(&file, packing)?;
        if !matches!(packing, Packing::Foreign(_)) {
            head.resize(WINDOW, 0);
            let read = opened.read_at(&mut head, 0)?;
            head.truncate(read);
        }
        if let Packing::Foreign(kind) = packing {
            self.trouble(path.to_owned(), format!("it is packed by {kind}, which is not read"));
        }
        if head.is_empty() {
            self.become_role(key, Role::Nothing);
            return Ok(None);
        }
        let path = path.to_owned();
        Ok(Some(Candidate { key, path, found, file, packing, opened, head }))
    }

    fn become_role(&mut self, key: FileKey, role: Role) {
        if let Some(found) = self.found.get_mut(&key) {
            found.role = role;
        }
    }

    /// Finds the log that a file has, and what becomes of the file.
    fn recognise(&mut self, mut new: Candidate, is_close: bool) -> Result<bool, SourceError> {
        self.refuse(&mut new)?;
        let is_young = self.is_young(&new);
        if new.opened.damage().is_some() && new.head.len() < WINDOW && is_young {
            // It is being packed still, and what is there says too little.
            self.become_role(new.key, Role::Open);
            return Ok(false);
        }
        if let Some(id) = self.known_packed(&new)? {
            if self.logs.get(id).is_some_and(|log| log.carrier.is_none()) {
                self.carry(id, new, false);
            } else {
                self.become_role(new.key, Role::Copy(id));
            }
            return Ok(true);
        }
        let (mut same, mut others) = (Vec::new(), Vec::new());
        for id in self.logs.like(&new.head) {
            let Some(log) = self.logs.get(id).filter(|log| !is_emptied(log, &new)) else {
                continue;
            };
            let relation = log.mark.relation(&mut new.opened).map_err(disk(&new.path))?;
            match relation {
                Relation::Same => same.push((log.mark.offset, id)),
                Relation::Different => {}
                Relation::Beginning | Relation::Diverged(_) => others.push((id, relation)),
            }
        }
        same.sort_unstable_by(|a, b| b.cmp(a));
        for (_, id) in same {
            if self.is_free(id)? {
                self.carry(id, new, false);
                return Ok(true);
            }
            if let Some(is_settled) = self.settle_copy(id, &mut new)? {
                return Ok(is_settled);
            }
        }
        if !others.is_empty() && !is_close {
            self.doubtful.push((new.key, new.path, new.found));
            return Ok(true);
        }
        for (id, relation) in others {
            if let Some(is_settled) = self.settle_changed(id, relation, &mut new)? {
                return Ok(is_settled);
            }
        }
        self.unfamiliar(new)
    }

    /// Whether a file may still be written: its date is near, and it was seen to change lately. So
    /// a date in the future, as after a clock was set back, holds nothing up for long.
    fn is_young(&self, new: &Candidate) -> bool {
        let quiet = self.options.quiet;
        let age_us = self.clock.unix_micros().saturating_sub(new.found.modified_us);
        let now = self.clock.now();
        let rested = self.found.get(&new.key).map(|found| now - found.changed);
        age_us < quiet.as_micros() as u64 && rested.is_none_or(|rested| rested < quiet)
    }

    fn known_packed(&self, new: &Candidate) -> Result<Option<LogId>, SourceError> {
        if new.packing == Packing::Plain {
            return Ok(None);
        }
        let packed = packed_mark(&new.file).map_err(disk(&new.path))?;
        Ok(packed.and_then(|packed| self.logs.find_packed(packed)))
    }

    /// Whether a log has no file that it can be read from.
    fn is_free(&mut self, id: LogId) -> Result<bool, SourceError> {
        if self.logs.get(id).is_none_or(|log| log.carrier.is_none()) {
            return Ok(true);
        }
        if !self.open(id)? {
            return Ok(self.logs.get(id).is_none_or(|log| log.carrier.is_none()));
        }
        let Some(log) = self.logs.get_mut(id) else { return Ok(true) };
        let (end, is_empty) = (log.mark.offset, log.mark.offset == 0);
        let window = match &mut log.open {
            Some(opened) if !is_empty => opened.window(end),
            _ => return Ok(false),
        };
        let window = window.map_err(disk(Path::new(&log.name)))?;
        let is_whole = window.is_some_and(|window| log.mark.fits(&window));
        if !is_whole {
            self.cut(id)?;
        }
        Ok(!is_whole)
    }

    /// Under `strict`: fails for a file that held a log which it does not hold any more.
    fn refuse(&mut self, new: &mut Candidate) -> Result<(), SourceError> {
        let refused = self.refused.get(&new.found.identity);
        let Some(log) = refused.and_then(|id| self.logs.get(*id)) else { return Ok(()) };
        match log.mark.relation(&mut new.opened).map_err(disk(&new.path))? {
            Relation::Same => Ok(()),
            _ => Err(changed(log)),
        }
    }

    /// Leaves a file alone that has nothing that the log's own file does not have; none when it
    /// is another log.
    fn settle_copy(&mut self, id: LogId, new: &mut Candidate) -> Result<Option<bool>, SourceError> {
        let is_open = self.open(id)?;
        let own = self.logs.get_mut(id).filter(|_| is_open);
        let Some((name, Some(own))) = own.map(|log| (&log.name, &mut log.open)) else {
            self.become_role(new.key, Role::Open);
            return Ok(Some(false));
        };
        let end = new.opened.content_len().map_err(disk(&new.path))?;
        let theirs = new.opened.window(end).map_err(disk(&new.path))?;
        let ours = own.window(end).map_err(disk(Path::new(name)))?;
        let is_copy = ours.is_some() && ours == theirs;
        if is_copy {
            self.become_role(new.key, Role::Copy(id));
        }
        Ok(is_copy.then_some(true))
    }

    /// A file that is a log's only up to a point: tells what it is, if it is the log's at all.
    fn settle_changed(
        &mut self,
        id: LogId,
        relation: Relation,
        new: &mut Candidate,
    ) -> Result<Option<bool>, SourceError> {
        if !self.is_free(id)? {
            return self.settle_copy(id, new);
        }
        let Some(log) = self.logs.get(id) else { return Ok(None) };
        if new.opened.damage().is_some() {
            // It is being packed still; what is not there yet may come.
            self.become_role(new.key, Role::Copy(id));
            return Ok(Some(true));
        }
        let is_same_file = log.hint == Some(new.found.identity);
        let offset = log.mark.offset;
        let end = new.opened.content_len().map_err(disk(&new.path))?;
        let (to, lost) = match relation {
            Relation::Beginning => (end, None),
            Relation::Diverged(from) if is_same_file => (end.min(offset), Some(from)),
            _ => return Ok(None),
        };
        if self.options.strict {
            return Err(changed(log));
        }
        let to = if lost.is_some() { line_start(&mut new.opened, to, &new.path)? } else { to };
        let marked = Mark::measure(&mut new.opened, to).map_err(disk(&new.path))?;
        let Some(marked) = marked else { return Ok(None) };
        let (file, seen) = (new.path.display().to_string(), log.seen);
        if let Some(from) = lost {
            let (file, to) = (file.clone(), offset.max(to));
            self.reports.push_back(Report::Lost { file, from, to });
        } else {
            let file = file.clone();
            self.reports.push_back(Report::Receded { file, from: to, to: offset });
        }
        if seen > offset {
            self.reports.push_back(Report::Lost { file, from: offset, to: seen });
        }
        self.become_role(new.key, Role::Open);
        let key = new.key;
        self.logs.mark(id, |log| {
            (log.seen, log.mark) = (marked.offset, marked);
        });
        // It is the log's again; recognised by what it has by now.
        let path = new.path.clone();
        self.look(key, &path, new.found).map(Some)
    }

    /// A file with the content of no log that is known here.
    fn unfamiliar(&mut self, mut new: Candidate) -> Result<bool, SourceError> {
        if !self.foreign_is_fresh {
            self.wants_foreign = true;
            self.become_role(new.key, Role::Open);
            return Ok(false);
        }
        let mut best: Option<Mark> = None;
        for id in self.foreign.like(&new.head) {
            let Some(log) = self.foreign.get(id) else { continue };
            let relation = log.mark.relation(&mut new.opened).map_err(disk(&new.path))?;
            let mark = match relation {
                Relation::Same => log.mark.clone(),
                Relation::Beginning if new.opened.damage().is_none() => {
                    let end = new.opened.content_len().map_err(disk(&new.path))?;
                    match Mark::measure(&mut new.opened, end).map_err(disk(&new.path))? {
                        Some(mark) => mark,
                        None => continue,
                    }
                }
                _ => continue,
            };
            if best.as_ref().is_none_or(|best| best.offset < mark.offset) {
                best = Some(mark);
            }
        }
        let mut log = Log::new(best.unwrap_or_default());
        let key = Mark::keys_of(&new.head).next().unwrap_or_default();
        log.unread = (key, Mark::short_key_of(&new.head));
        let id = self.logs.add(log);
        self.carry(id, new, true);
        Ok(true)
    }

    /// Reads a log from a file from here on.
    fn carry(&mut self, id: LogId, new: Candidate, is_new: bool) {
        self.become_role(new.key, Role::Carrier(id));
        let now = self.clock.now();
        let time_of = self.options.time_of.as_ref();
        let line = memchr::memchr(b'\n', &new.head).map_or(&*new.head, |end| &new.head[..=end]);
        let order_us = time_of.and_then(|time_of| time_of(line)).unwrap_or(new.found.modified_us);
        let Some(log) = self.logs.get_mut(id) else { return };
        let name = new.path.display().to_string();
        let is_plain = new.packing == Packing::Plain;
        let is_renamed = !is_new && !log.name.is_empty() && log.name != name;
        log.is_rotated = !is_plain || is_renamed || (log.is_rotated && !is_new);
        (log.name, log.packing, log.order_us) = (name, new.packing, order_us);
        log.grown = Some(now);
        (log.hint, log.carrier) = (Some(new.found.identity), Some(new.key));
        (log.has_left, log.was_cut) = (false, false);
        if is_plain {
            let (from, to) = (log.mark.offset.max(new.found.len), log.seen);
            if to > from {
                self.reports.push_back(Report::Lost { file: log.name.clone(), from, to });
            }
            log.seen = new.found.len;
        }
        log.len = if is_plain { new.found.len } else { 0 };
        let rests = log.mark.offset == log.seen && (is_plain || log.packed.is_some());
        if rests && log.is_rotated {
            return;
        }
        if is_plain && self.opened.len() < OPEN_MAX && !rests {
            self.keep_open(id, new.opened);
        }
        if !rests {
            self.wake(id);
        }
    }

    /// Lets copies go on with logs that have lost their file.
    fn try_copies(&mut self) -> Result<bool, SourceError> {
        let lacks = |id: &LogId| self.logs.get(*id).is_none_or(|log| log.carrier.is_none());
        let copies = self.found.iter().filter_map(|(key, found)| match found.role {
            Role::Copy(id) if lacks(&id) => Some((*key, found.path.clone(), found.found)),
            _ => None,
        });
        let mut is_complete = true;
        for (key, path, found) in copies.collect::<Vec<_>>() {
            is_complete &= self.look(key, &path, found)?;
        }
        Ok(is_complete)
    }

    /// Whether the folders still are as they were listed, but for the files that logs are read
    /// from. Otherwise a log may be in a file that got its name or its content while we looked.
    fn is_settled(&self) -> bool {
        let mut listing = Listing::default();
        for pattern in &self.options.files {
            pattern.list(&*self.disk, &mut listing);
        }
        let is_known = |(_, meta): &(PathBuf, Metadata)| {
            self.found
                .get(&key_of(&meta.identity))
                .is_some_and(|known| matches!(known.role, Role::Carrier(_)) || known.found == *meta)
        };
        listing.troubles.is_empty() && listing.files.iter().all(is_known)
    }

    /// Drops logs that no file has, once it is certain that none has them.
    fn drop_orphans(&mut self, is_complete: bool) {
        let is_certain = is_complete && !self.found.is_empty() && !self.scan_is_due;
        let copied: HashSet<LogId> = self.found.values().filter_map(Found::copies).collect();
        let orphans = self
            .logs
            .iter()
            .filter(|(id, log)| log.carrier.is_none() && is_certain && !copied.contains(id));
        for id in orphans.map(|(id, _)| id).collect::<Vec<_>>() {
            self.close(id);
            let Some(log) = self.logs.remove(id) else { continue };
            let (from, to) = (log.mark.offset, log.seen);
            if to > from {
                self.reports.push_back(Report::Lost { file: log.name, from, to });
            }
        }
    }
}

impl Found {
    fn copies(&self) -> Option<LogId> {
        match self.role {
            Role::Copy(id) => Some(id),
            _ => None,
        }
    }
}

/// Whether a file is what is left of the log's own, emptied file.
fn is_emptied(log: &Log, new: &Candidate) -> bool {
    log.was_cut && log.hint == Some(new.found.identity)
}

/// The first line's start at or after `at`.
fn line_start(content: &mut Opened, at: u64, path: &Path) -> Result<u64, SourceError> {
    let mut from = at.saturating_sub(1);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = content.read_at(&mut buffer, from).map_err(disk(path))?;
        match memchr::memchr(b'\n', &buffer[..read]) {
            Some(end) => return Ok(from + end as u64 + 1),
            None if read == 0 => return Ok(from.max(at)),
            None => from += read as u64,
        }
    }
}

fn disk(path: &Path) -> impl FnOnce(io::Error) -> SourceError {
    SourceError::disk("read", path)
}
