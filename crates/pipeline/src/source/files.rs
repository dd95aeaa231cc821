//! Reads log files that other programs write, rotate, empty, pack and delete, as one source.
//!
//! A log is recognised by its content ([`mark`]). So it keeps its place under any name, on any
//! machine, packed or not. Each part has one rule. A [`scan`] finds out which file carries which
//! log, [`turns`] say whose turn it is, a [`reader`] reads one log. This file joins them, opens and
//! closes, and gives up last lines that nobody will complete.
//! Invariant: until the next `resume`, what was handed out of a log is not handed out again, as far
//! as its mark recognises it. Bytes that were seen in a log and are in no file any more are
//! reported as lost. Nothing of a packed file is handed out before all of it was unpacked without
//! damage. Of a damaged one only the damage is known.
//! Reading is by chunks of 512 KiB, oldest log first, each up to where it ended when its turn
//! began, if others wait. Memory is some hundred bytes for each file that is there, and up to 128
//! open files. Of these a packed one takes 1 MiB and its decoder. The chunk is in memory that the
//! caller lends. What takes longer than a chunk is done in parts, with `Unfinished` between them.
//! `recount` asks [`FileSource::extents`] which file holds which log. Its rules for users are in
//! docs/operating/log-formats.md.
//! Refuses: to wait for anything but the disk, and to guess what a file held that was never read.

mod candidate;
mod catalogue;
mod chunk;
mod file_table;
mod identify;
mod kinship;
mod log;
mod logs;
mod mark;
mod open_files;
mod options;
mod other_nodes;
mod patterns;
mod position;
mod reader;
mod reports;
mod scan;
mod scanner;
mod schedule;
mod sync_list;
mod turns;
mod unpack;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::{Clock, Disk, DiskFile};

use self::candidate::packed_mark_at;
use self::catalogue::Catalogue;
use self::log::LogId;
use self::logs::Logs;
pub use self::options::{FileOptions, TimeOf, time_in};
use self::other_nodes::OtherNode;
pub use self::patterns::FilePattern;
use self::position::Position;
use self::reader::{BufferedBytes, LogRead, LogReader};
use self::reports::Reports;
use self::scan::{Scan, ScanProgress, ScanTime};
use self::scanner::Scanner;
use self::sync_list::SyncList;
use self::turns::{Remainder, RemainderDecision, TurnQueue};
use self::unpack::{OpenLog, Proof};
use super::{FileNotices, LineSource, NodePosition, ReadOutcome};
use crate::chunk::LogChunk;
use crate::error::SourceError;

/// Reads log files.
pub struct FileSource {
    name: String,
    options: FileOptions,
    clock: Arc<dyn Clock>,
    catalogue: Catalogue,
    scanner: Scanner,
    turns: TurnQueue,
    unsynced: SyncList,
    reports: Reports,
}

/// How far a log was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Its file, packed or not; none where it has none any more.
    pub file: Option<PathBuf>,
    /// The offset in its content behind the last line handed out.
    pub end: u64,
}

impl FileSource {
    /// A source called `name`; its files need not exist yet.
    pub fn new(
        name: &str,
        options: FileOptions,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            catalogue: Catalogue::new(disk),
            scanner: Scanner::new(options.strict),
            turns: TurnQueue::default(),
            unsynced: SyncList::default(),
            reports: Reports::default(),
            options,
            clock,
        }
    }

    /// Looks through the directories, and says how far each log was handed out, with 0 for one
    /// that was not begun.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn extents(&mut self) -> Result<Vec<Extent>, SourceError> {
        self.scan()?;
        let extents = self.catalogue.logs.iter().map(|(_, log)| Extent {
            file: log.file.carrier.map(|_| PathBuf::from(&log.file.name)),
            end: log.mark.offset,
        });
        Ok(extents.collect())
    }
}

impl LineSource for FileSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        let logs = self.parse(position)?;
        self.catalogue.reset(logs);
        self.turns.clear();
        self.unsynced.clear();
        self.reports.clear();
        self.scanner.reset(&self.catalogue);
        Ok(())
    }

    fn others(&mut self, positions: &[NodePosition]) {
        let mut nodes = Vec::with_capacity(positions.len());
        for NodePosition { node, position } in positions {
            match self.parse(Some(position)) {
                Ok(logs) => {
                    let is_moved = self.options.moved_from.contains(node);
                    nodes.push(OtherNode { name: node.clone(), logs, is_moved });
                }
                Err(error) => tracing::warn!(%error, "cannot read the position of another node"),
            }
        }
        self.scanner.others.tell(nodes);
        self.scanner.schedule.request();
    }

    fn read<'s>(&'s mut self, buffer: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        let mut reader = LogReader::new(buffer);
        let taken = loop {
            if !self.reports.is_empty() {
                return Ok(self.reports.next().unwrap_or(ReadOutcome::CaughtUp));
            }
            if self.scanner.others.take_wanted() {
                return Ok(ReadOutcome::Unfamiliar);
            }
            if self.scan_if_due()? {
                continue;
            }
            let Some(id) = self.whose_turn() else {
                match self.give_up_rests(&mut reader)? {
                    Some(taken) => break taken,
                    None if self.has_news() => continue,
                    None => return Ok(ReadOutcome::CaughtUp),
                }
            };
            match self.take(id, &mut reader)? {
                LogRead::End => self.end_turn(id),
                LogRead::Cut => self.cut(id)?,
                taken => break taken,
            }
        };
        Ok(self.outcome(&taken, buffer))
    }

    fn position(&self) -> String {
        let logs = self.catalogue.logs.iter();
        Position::of(logs.map(|(id, log)| (log, self.catalogue.open.contains(id)))).to_text()
    }

    fn to_sync(&mut self) -> Vec<Arc<dyn DiskFile>> {
        self.unsynced.take()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        self.look_at_open_files();
        let known: u64 = self.catalogue.logs.iter().map(|(_, log)| log.behind()).sum();
        known + self.catalogue.files.unknown_bytes()
    }

    fn notices(&self) -> FileNotices {
        let unreadable = self.reports.all_unreadable();
        let unreadable =
            unreadable.map(|(path, reason)| (path.display().to_string(), reason.to_owned()));
        FileNotices { copies: self.catalogue.copies(), unreadable: unreadable.collect() }
    }
}

impl FileSource {
    fn parse(&self, position: Option<&str>) -> Result<Logs, SourceError> {
        let mut logs = Logs::default();
        let Some(text) = position else { return Ok(logs) };
        let parsed = Position::from_text(text).and_then(Position::logs);
        let parsed = parsed.map_err(|reason| {
            let source_name = self.name.clone();
            SourceError::Position { source_name, reason }
        })?;
        for log in parsed {
            logs.add(log);
        }
        Ok(logs)
    }

    fn scan_if_due(&mut self) -> Result<bool, SourceError> {
        let began = self.clock.now();
        if !self.scanner.schedule.is_due(began) {
            return Ok(false);
        }
        self.scanner.schedule.begin(began);
        let outcome = self.scan();
        self.scanner.schedule.end(began, self.clock.now());
        outcome.inspect_err(|_| self.scanner.schedule.request()).map(|()| true)
    }

    fn scan(&mut self) -> Result<(), SourceError> {
        let Self { scanner, catalogue, turns, reports, options, clock, .. } = self;
        let now = ScanTime { monotonic: clock.now(), unix_us: clock.unix_micros() };
        let progress = ScanProgress::default();
        Scan { scanner, catalogue, turns, reports, options, now, progress }.run()
    }

    fn has_news(&self) -> bool {
        self.scanner.schedule.is_requested() || !self.reports.is_empty() || !self.turns.is_idle()
    }

    /// The log to read from; the next one when it has had its turn.
    fn whose_turn(&mut self) -> Option<LogId> {
        let logs = &self.catalogue.logs;
        let going = self.turns.go_on(|id| logs.get(id).map(|log| log.mark.offset));
        if going.is_some() {
            return going;
        }
        if self.turns.is_idle() {
            self.look_at_open_files();
        }
        let logs = &self.catalogue.logs;
        let next = self.turns.next(|id| logs.get(id).map(|log| log.seen.max(log.mark.offset + 1)));
        self.catalogue.current = next;
        if let Some(log) = next.and_then(|id| self.catalogue.logs.get_mut(id)) {
            log.turn = self.turns.turns();
        }
        next
    }

    fn stop_turn(&mut self) {
        self.turns.end();
        self.catalogue.current = None;
    }

    /// A log has nothing more at present.
    fn end_turn(&mut self, id: LogId) {
        self.stop_turn();
        let Some(log) = self.catalogue.logs.get_mut(id) else { return };
        if !log.is_packed() {
            if log.file.is_rotated {
                self.turns.linger(id);
            }
            return;
        }
        let Some(opened) = self.catalogue.open.get_mut(id) else { return };
        if opened.damage().is_some() {
            // It is looked at again when it changes.
            self.turns.forget_rest(id);
            return self.catalogue.close(id);
        }
        let end = opened.content_len().unwrap_or(log.seen).max(log.mark.offset);
        self.reports.lost(&log.file.name, end, log.seen);
        log.seen = end;
        if log.mark.offset == end {
            self.seal(id);
        } else {
            self.turns.linger(id);
        }
    }

    /// A packed file was read to its end: notes by which of its own bytes to know it again.
    fn seal(&mut self, id: LogId) {
        self.catalogue.close(id);
        let Some(log) = self.catalogue.logs.get(id) else { return };
        if let Some(packed) = packed_mark_at(&*self.catalogue.disk, Path::new(&log.file.name)) {
            self.catalogue.logs.packed(id, packed);
        }
    }

    /// Wakes the logs whose open file has another length than it had.
    fn look_at_open_files(&mut self) {
        let grown = self.catalogue.grown(self.clock.now());
        grown.into_iter().for_each(|id| self.turns.wake(id));
    }

    /// Reads a chunk of a log.
    fn take(&mut self, id: LogId, reader: &mut LogReader<'_>) -> Result<LogRead, SourceError> {
        self.with_open(id, |log, opened| reader.take(id, log, opened))
            .map(|taken| taken.unwrap_or(LogRead::End))
    }

    /// Has the reader look into a log's file; none when that is not there under its last name.
    fn with_open(
        &mut self,
        id: LogId,
        look: impl FnOnce(&mut log::Log, &mut OpenLog) -> std::io::Result<LogRead>,
    ) -> Result<Option<LogRead>, SourceError> {
        if !self.catalogue.open(id, &mut self.reports)? {
            return Ok(None);
        }
        match self.proves(id)? {
            Proof::Sound => {}
            Proof::Broken => return Ok(Some(LogRead::End)),
            Proof::Unfinished => return Ok(Some(LogRead::Unfinished)),
        }
        let Some(opened) = self.catalogue.open.get_mut(id) else { return Ok(None) };
        let taken = self.catalogue.logs.change(id, |log| {
            let taken = look(log, opened);
            taken.map_err(SourceError::disk("read", Path::new(&log.file.name)))
        });
        let Some(taken) = taken.transpose()? else { return Ok(None) };
        let is_handed_out = !matches!(taken, LogRead::Unfinished | LogRead::End | LogRead::Cut);
        if self.options.sync && is_handed_out {
            self.unsynced.note(id, opened);
        }
        Ok(Some(taken))
    }

    /// Whether an open log may be handed out: a packed one only when all of it can be unpacked.
    fn proves(&mut self, id: LogId) -> Result<Proof, SourceError> {
        let Some((log, opened)) = self.catalogue.opened(id) else { return Ok(Proof::Sound) };
        let path = Path::new(&log.file.name);
        let proof = opened.prove().map_err(SourceError::disk("read", path))?;
        match proof {
            Proof::Sound if log.is_packed() => self.reports.settle(path),
            Proof::Broken => self.reports.broken(path, opened.damage().unwrap_or_default()),
            Proof::Sound | Proof::Unfinished => {}
        }
        Ok(proof)
    }

    /// Hands out rests of lines that nobody will complete, and closes what has been read.
    fn give_up_rests(
        &mut self,
        reader: &mut LogReader<'_>,
    ) -> Result<Option<LogRead>, SourceError> {
        let now = self.clock.now();
        for id in self.turns.lingering() {
            let Some(log) = self.catalogue.logs.get(id) else {
                self.turns.forget_rest(id);
                continue;
            };
            let rest = Remainder {
                is_waiting: self.turns.is_waiting(id),
                is_whole: self.catalogue.open.get(id).is_some_and(OpenLog::is_whole),
                is_quiet: log.is_quiet(now, self.options.idle_timeout),
                behind: log.behind(),
            };
            match rest.decide() {
                RemainderDecision::Wait => {}
                RemainderDecision::Retire => {
                    self.turns.forget_rest(id);
                    self.retire(id);
                }
                RemainderDecision::GiveUp => match self.give_up_rest(id, reader)? {
                    Some(taken) => return Ok(Some(taken)),
                    None => self.turns.forget_rest(id),
                },
            }
        }
        Ok(None)
    }

    fn give_up_rest(
        &mut self,
        id: LogId,
        reader: &mut LogReader<'_>,
    ) -> Result<Option<LogRead>, SourceError> {
        match self.with_open(id, |log, opened| reader.give_up_rest(id, log, opened))? {
            Some(LogRead::Cut) => {
                self.cut(id)?;
                Ok(None)
            }
            Some(LogRead::End) => {
                self.turns.wake(id);
                Ok(None)
            }
            taken => Ok(taken),
        }
    }

    /// Closes a rotated log that is read to its end and silent.
    fn retire(&mut self, id: LogId) {
        let Some(log) = self.catalogue.logs.get_mut(id) else { return };
        if log.is_packed() {
            return self.seal(id);
        }
        if log.file.has_left {
            log.file.carrier = None;
            // A packed copy of it may have been waiting.
            self.scanner.schedule.request();
        }
        self.catalogue.close(id);
    }

    /// A log's bytes are not in its file any more: the file was emptied.
    fn cut(&mut self, id: LogId) -> Result<(), SourceError> {
        self.stop_turn();
        self.scanner.cut(id, &mut self.catalogue)
    }

    fn outcome<'s>(&'s self, taken: &LogRead, buffer: &'s [u8]) -> ReadOutcome<'s> {
        let chunk = |stretch: &BufferedBytes| LogChunk {
            file: self.catalogue.logs.get(stretch.log).map_or("", |log| &log.file.name),
            bytes: &buffer[stretch.range.clone()],
            start: stretch.start,
        };
        match taken {
            LogRead::Lines(lines) => ReadOutcome::Lines(chunk(lines)),
            LogRead::Torn(rest) => ReadOutcome::Torn(chunk(rest)),
            LogRead::Oversized(beginning, length) => {
                ReadOutcome::Oversized { beginning: chunk(beginning), length: *length }
            }
            LogRead::Unfinished => ReadOutcome::Unfinished,
            LogRead::End | LogRead::Cut => ReadOutcome::CaughtUp,
        }
    }
}

#[cfg(test)]
mod tests;
