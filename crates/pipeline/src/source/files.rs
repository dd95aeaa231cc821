//! Log files that other programs write, rotate, empty, pack and delete.
//!
//! A log is recognised by its content ([`mark`]), so it keeps its place under any name, on any
//! machine, packed or not, and what was handed out of it is never handed out again. What is known
//! to have been there and cannot be read any more is reported to the byte.
//! Reading is by large chunks, oldest log first, each up to where it ended when its turn began;
//! memory is one chunk, a few open files, and some hundred bytes for each file that is there.
//! Refuses: to wait for anything but the disk, to guess what a file held that nobody saw.

mod logs;
mod mark;
mod patterns;
mod position;
mod scan;
mod unpack;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stdx::{Clock, Disk, DiskFile, FileIdentity};

use self::logs::{FileKey, LogId, Logs};
use self::mark::{Content, Mark, WINDOW};
pub use self::patterns::FilePattern;
use self::position::Position;
use self::scan::Found;
use self::unpack::{Opened, Packing};
use super::{Piece, Source, Step};
use crate::decode::{Decoder, Event, Format};
use crate::error::SourceError;

/// What is read at once. A line with its line feed is at most a window shorter than this.
const CHUNK_BYTES: usize = 512 << 10;
/// What is handed out of a line that is too long.
const BEGINNING_BYTES: usize = 1024;
/// Files kept open; more are closed, and opened again when they grow.
const OPEN_MAX: usize = 128;
/// Files that wait to be synced with the next position; one more is synced at once.
const UNSYNCED_MAX: usize = 256;
/// How often the folders are looked through.
const SCAN_EVERY: Duration = Duration::from_secs(1);
/// The share of time that looking may take: one in this many.
const SCAN_SHARE: u32 = 20;

/// Tells the time in a line with its line feed, in microseconds since the Unix epoch.
pub type TimeOf = Arc<dyn Fn(&[u8]) -> Option<u64> + Send + Sync>;

/// Tells the time in lines of a format.
pub fn time_in(format: &Format) -> TimeOf {
    let decoder = Mutex::new(Decoder::new(format, Arc::default()));
    Arc::new(move |line| {
        let mut time = None;
        decoder.lock().each(line, |_, _, outcome| time = outcome.ok().map(Event::time_us));
        time
    })
}

/// How files are read.
#[derive(Clone)]
pub struct FileOptions {
    /// Which files.
    pub files: Vec<FilePattern>,
    /// Ends with an error, instead of a report, when a log is emptied or is found changed.
    pub strict: bool,
    /// Makes files durable before positions in them are committed.
    pub sync: bool,
    /// How long a rotated file must have been silent until its last, incomplete line is given up
    /// and the file is closed.
    pub quiet: Duration,
    /// Orders files by their first lines; by their last change without it.
    pub time_of: Option<TimeOf>,
}

/// Reads log files.
pub struct FileSource {
    name: String,
    options: FileOptions,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    logs: Logs,
    /// What the last scan saw.
    found: HashMap<FileKey, Found>,
    /// Marks that other nodes committed.
    foreign: Logs,
    /// `foreign` was told since a file came up that nobody here knows.
    foreign_is_fresh: bool,
    wants_foreign: bool,
    round: u64,
    /// None: as soon as possible.
    next_scan: Option<Instant>,
    scan_is_due: bool,
    queue: VecDeque<LogId>,
    /// The log whose turn it is, and where its turn ends.
    current: Option<(LogId, u64)>,
    turns: u64,
    opened: Vec<LogId>,
    /// Logs that end or may end without a line feed.
    lingering: Vec<LogId>,
    unsynced: Vec<(LogId, Arc<dyn DiskFile>)>,
    reports: VecDeque<Report>,
    said: Option<Report>,
    /// What was said of files that cannot be read.
    troubles: HashMap<PathBuf, String>,
    /// Files that are a log's only up to a point.
    doubtful: Vec<scan::Fresh>,
    /// Under `strict`: files that held a log which they do not hold any more.
    refused: HashMap<FileIdentity, LogId>,
    buffer: Vec<u8>,
}

/// How far a log was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Its file, packed or not; none where it has none any more.
    pub file: Option<PathBuf>,
    /// The offset in its content behind the last line handed out.
    pub end: u64,
}

/// What is to be reported.
enum Report {
    Lost { file: String, from: u64, to: u64 },
    Receded { file: String, from: u64, to: u64 },
    Unreadable { file: String, cause: String },
}

/// What a look into a log gave.
enum Taken {
    Lines(Piecemeal),
    Torn(Piecemeal),
    Oversized(Piecemeal, u64),
    Searched,
    /// No complete line is there at present.
    End,
    /// The log's bytes are not in its file any more.
    Cut,
}

/// A [`Piece`] before it is borrowed.
struct Piecemeal {
    log: LogId,
    range: Range<usize>,
    start: u64,
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
            options,
            disk,
            clock,
            logs: Logs::default(),
            found: HashMap::new(),
            foreign: Logs::default(),
            foreign_is_fresh: false,
            wants_foreign: false,
            round: 0,
            next_scan: None,
            scan_is_due: true,
            queue: VecDeque::new(),
            current: None,
            turns: 0,
            opened: Vec::new(),
            lingering: Vec::new(),
            unsynced: Vec::new(),
            reports: VecDeque::new(),
            said: None,
            troubles: HashMap::new(),
            doubtful: Vec::new(),
            refused: HashMap::new(),
            buffer: Vec::new(),
        }
    }

    /// Looks through the folders, and says how far each log was handed out, with 0 for one that
    /// was not begun.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn extents(&mut self) -> Result<Vec<Extent>, SourceError> {
        self.scan()?;
        let extents = self.logs.iter().map(|(_, log)| Extent {
            file: log.carrier.map(|_| PathBuf::from(&log.name)),
            end: log.mark.offset,
        });
        Ok(extents.collect())
    }
}

impl Source for FileSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.logs = self.parse(position)?;
        self.found.clear();
        self.queue.clear();
        self.current = None;
        self.opened.clear();
        self.lingering.clear();
        self.unsynced.clear();
        self.reports.clear();
        self.refused.clear();
        if self.options.strict {
            let hints = self.logs.iter().filter_map(|(id, log)| Some((log.hint?, id)));
            self.refused = hints.collect();
        }
        self.scan_is_due = true;
        Ok(())
    }

    fn others(&mut self, positions: &[String]) {
        self.foreign = Logs::default();
        for position in positions {
            match self.parse(Some(position)) {
                Ok(mut logs) => {
                    for log in logs.drain() {
                        self.foreign.add(log);
                    }
                }
                Err(error) => tracing::warn!(%error, "the position of another node"),
            }
        }
        self.foreign_is_fresh = true;
        self.scan_is_due = true;
    }

    fn read(&mut self) -> Result<Step<'_>, SourceError> {
        self.buffer.resize(CHUNK_BYTES, 0);
        let taken = loop {
            if let Some(report) = self.reports.pop_front() {
                return Ok(self.said.insert(report).step());
            }
            if std::mem::take(&mut self.wants_foreign) {
                return Ok(Step::Unfamiliar);
            }
            if self.scan_if_due()? {
                continue;
            }
            let Some(id) = self.whose_turn() else {
                match self.give_up_rests()? {
                    Some(taken) => break taken,
                    None if self.has_news() => continue,
                    None => return Ok(Step::CaughtUp),
                }
            };
            match self.take(id)? {
                Taken::End => self.end_turn(id),
                Taken::Cut => self.cut(id)?,
                Taken::Searched => {}
                taken => break taken,
            }
        };
        Ok(self.step(&taken))
    }

    fn position(&self) -> String {
        Position::of(self.logs.iter().map(|(_, log)| log)).to_text()
    }

    fn to_sync(&mut self) -> Vec<Arc<dyn DiskFile>> {
        std::mem::take(&mut self.unsynced).into_iter().map(|(_, file)| file).collect()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        self.look_at_open_files();
        let unfamiliar: u64 = self.found.values().map(Found::unknown_bytes).sum();
        self.logs.iter().map(|(_, log)| log.behind()).sum::<u64>() + unfamiliar
    }
}

impl FileSource {
    fn parse(&self, position: Option<&str>) -> Result<Logs, SourceError> {
        let mut logs = Logs::default();
        let Some(text) = position else { return Ok(logs) };
        let parsed = Position::from_text(text).and_then(Position::logs);
        let parsed = parsed.map_err(|cause| {
            let source_name = self.name.clone();
            SourceError::Position { source_name, cause }
        })?;
        for log in parsed {
            logs.add(log);
        }
        Ok(logs)
    }

    fn scan_if_due(&mut self) -> Result<bool, SourceError> {
        let began = self.clock.now();
        if !self.scan_is_due && self.next_scan.is_some_and(|next| began < next) {
            return Ok(false);
        }
        self.scan_is_due = false;
        let outcome = self.scan();
        let pause = SCAN_EVERY.max((self.clock.now() - began) * SCAN_SHARE);
        self.next_scan = Some(began + pause);
        self.scan_is_due |= outcome.is_err();
        outcome.map(|()| true)
    }

    fn has_news(&self) -> bool {
        self.scan_is_due || self.wants_foreign || !self.reports.is_empty() || !self.queue.is_empty()
    }

    /// The log to read from; the next one when it has had its turn.
    fn whose_turn(&mut self) -> Option<LogId> {
        if let Some((id, until)) = self.current {
            let is_over = self.logs.get(id).is_none_or(|log| log.mark.offset >= until);
            if !is_over || self.queue.is_empty() {
                return Some(id);
            }
            self.current = None;
            self.wake(id);
        }
        if self.queue.is_empty() {
            self.look_at_open_files();
        }
        let id = self.queue.pop_front()?;
        self.turns += 1;
        let log = self.logs.get_mut(id)?;
        log.is_queued = false;
        log.turn = self.turns;
        self.current = Some((id, log.seen.max(log.mark.offset + 1)));
        Some(id)
    }

    fn end_turn(&mut self, id: LogId) {
        self.current = None;
        let Some(log) = self.logs.get_mut(id) else { return };
        if log.packing != Packing::Plain {
            let Some(opened) = &mut log.open else { return };
            if opened.damage().is_some() {
                return self.linger(id);
            }
            let end = opened.content_len().unwrap_or(log.seen).max(log.mark.offset);
            let (file, from, to) = (log.name.clone(), end, log.seen);
            log.seen = end;
            if log.mark.offset == end {
                self.seal(id);
            } else {
                self.linger(id);
            }
            if from < to {
                self.reports.push_back(Report::Lost { file, from, to });
            }
        } else if log.is_rotated {
            self.linger(id);
        }
    }

    /// A packed file was read to its end: notes by which of its own bytes to know it again.
    fn seal(&mut self, id: LogId) {
        self.close(id);
        let Some(log) = self.logs.get(id) else { return };
        let file = self.disk.open_read(Path::new(&log.name));
        let packed = file.and_then(|file| scan::packed_mark(&file));
        if let Ok(Some(packed)) = packed {
            self.logs.packed(id, packed);
        }
    }

    fn linger(&mut self, id: LogId) {
        if !self.lingering.contains(&id) {
            self.lingering.push(id);
        }
    }

    /// Queues a log that may have more.
    fn wake(&mut self, id: LogId) {
        let is_current = self.current.is_some_and(|(current, _)| current == id);
        if let Some(log) = self.logs.get_mut(id).filter(|log| !log.is_queued && !is_current) {
            log.is_queued = true;
            self.queue.push_back(id);
        }
    }

    /// Wakes the logs whose open file has another length than it had.
    fn look_at_open_files(&mut self) {
        let now = self.clock.now();
        let mut grown = Vec::new();
        for id in &self.opened {
            let Some(log) = self.logs.get_mut(*id) else { continue };
            let Some(Opened::Plain(file)) = &log.open else { continue };
            let Ok(length) = file.len() else { continue };
            if length == log.len {
                continue;
            }
            log.len = length;
            log.grown = Some(now);
            let end = log.mark.offset;
            let window = log.open.as_mut().and_then(|opened| opened.window(end).ok().flatten());
            if window.is_some_and(|window| log.mark.fits(&window)) {
                // So it was not emptied when it had that length.
                log.seen = log.seen.max(length);
            }
            grown.push(*id);
        }
        grown.into_iter().for_each(|id| self.wake(id));
    }

    /// Reads a chunk of a log and marks what is handed out of it.
    fn take(&mut self, id: LogId) -> Result<Taken, SourceError> {
        if !self.open(id)? {
            return Ok(Taken::End);
        }
        let Some(log) = self.logs.get_mut(id) else { return Ok(Taken::End) };
        let Some(opened) = &mut log.open else { return Ok(Taken::End) };
        let cursor = log.searched.map_or(log.mark.offset, |searched| searched.0);
        let back = (cursor as usize).min(WINDOW);
        let read = opened.read_at(&mut self.buffer, cursor - back as u64);
        let read = read.map_err(SourceError::disk("read", Path::new(&log.name)))?;
        let is_whole = read >= back;
        let window = &self.buffer[..back.min(read)];
        let fits =
            log.searched.map_or_else(|| log.mark.fits(window), |at| at.1 == mark::hash(window));
        if !is_whole || !fits {
            return Ok(Taken::Cut);
        }
        let seen = cursor + (read - back) as u64;
        let is_shorter = read < self.buffer.len() && seen < log.seen;
        if is_shorter && log.packing == Packing::Plain {
            return Ok(Taken::Cut);
        }
        log.seen = log.seen.max(seen);
        if log.packing == Packing::Plain && read < self.buffer.len() {
            log.len = seen;
        }
        let data = &self.buffer[back..read];
        let Some(last) = memchr::memrchr(b'\n', data) else {
            if read < self.buffer.len() {
                return Ok(Taken::End);
            }
            let window = mark::hash(&self.buffer[read - WINDOW..read]);
            log.searched = Some((cursor + data.len() as u64, window));
            return Ok(Taken::Searched);
        };
        if log.searched.is_some() {
            let first = memchr::memchr(b'\n', data).unwrap_or(last);
            return self.skip(id, cursor + first as u64 + 1);
        }
        let start = log.mark.offset;
        let range = back..back + last + 1;
        let bytes = &self.buffer[..range.end];
        self.logs.mark(id, |log| log.mark.advance(bytes));
        self.note_unsynced(id);
        Ok(Taken::Lines(Piecemeal { log: id, range, start }))
    }

    /// Passes over a line that is too long, to just after it.
    fn skip(&mut self, id: LogId, to: u64) -> Result<Taken, SourceError> {
        let Some(log) = self.logs.get_mut(id) else { return Ok(Taken::End) };
        let start = log.mark.offset;
        let Some(opened) = &mut log.open else { return Ok(Taken::End) };
        let name = Path::new(&log.name);
        let marked = Mark::measure(opened, to);
        let Some(marked) = marked.map_err(SourceError::disk("read", name))? else {
            return Ok(Taken::Cut);
        };
        let read = opened.read_at(&mut self.buffer[..BEGINNING_BYTES], start);
        let read = read.map_err(SourceError::disk("read", name))?;
        log.searched = None;
        self.logs.mark(id, |log| log.mark = marked);
        self.note_unsynced(id);
        let beginning = Piecemeal { log: id, range: 0..read, start };
        Ok(Taken::Oversized(beginning, to - start))
    }

    fn note_unsynced(&mut self, id: LogId) {
        if !self.options.sync || self.unsynced.iter().any(|(other, _)| *other == id) {
            return;
        }
        let Some(Opened::Plain(file)) = self.logs.get(id).and_then(|log| log.open.as_ref()) else {
            return;
        };
        if self.unsynced.len() < UNSYNCED_MAX {
            self.unsynced.push((id, Arc::clone(file)));
        } else if let Err(error) = file.sync() {
            tracing::error!(%error, "a log file cannot be made durable");
        }
    }

    /// Hands out rests of lines that nobody will complete, and closes what has been read.
    fn give_up_rests(&mut self) -> Result<Option<Taken>, SourceError> {
        let (now, quiet) = (self.clock.now(), self.options.quiet);
        // Those behind one that is handed out linger on.
        for id in self.lingering.clone() {
            let log = self.logs.get(id);
            let is_whole = log.is_some_and(|log| log.open.as_ref().is_some_and(Opened::is_whole));
            let is_quiet = |log: &logs::Log| is_whole || log.is_quiet(now, quiet);
            let behind = log.map_or(0, logs::Log::behind);
            if log.is_some_and(|log| log.is_queued || !is_quiet(log)) {
                continue;
            }
            if behind > 0
                && let Some(taken) = self.give_up_rest(id)?
            {
                return Ok(Some(taken));
            }
            self.lingering.retain(|other| *other != id);
            if behind == 0 {
                self.retire(id);
            }
        }
        Ok(None)
    }

    fn give_up_rest(&mut self, id: LogId) -> Result<Option<Taken>, SourceError> {
        if !self.open(id)? {
            return Ok(None);
        }
        let Some(log) = self.logs.get_mut(id) else { return Ok(None) };
        let Some(opened) = &mut log.open else { return Ok(None) };
        if log.searched.is_some() {
            let end = log.seen;
            return self.skip(id, end).map(Some);
        }
        let (start, back) = (log.mark.offset, log.mark.back());
        let read = opened.read_at(&mut self.buffer, start - back as u64);
        let read = read.map_err(SourceError::disk("read", Path::new(&log.name)))?;
        if read <= back || !log.mark.fits(&self.buffer[..back]) {
            self.cut(id)?;
            return Ok(None);
        }
        let bytes = &self.buffer[..read];
        if memchr::memchr(b'\n', &bytes[back..]).is_some() {
            self.wake(id);
            return Ok(None);
        }
        self.logs.mark(id, |log| {
            log.mark.advance(bytes);
            log.seen = log.seen.max(log.mark.offset);
            log.len = log.len.min(log.seen);
        });
        self.note_unsynced(id);
        Ok(Some(Taken::Torn(Piecemeal { log: id, range: back..read, start })))
    }

    /// Closes a rotated log that is read to its end and silent.
    fn retire(&mut self, id: LogId) {
        let Some(log) = self.logs.get_mut(id) else { return };
        if log.packing != Packing::Plain {
            if let Some(cause) = log.open.as_ref().and_then(Opened::damage) {
                let (file, cause) = (log.name.clone(), cause.to_owned());
                self.reports.push_back(Report::Unreadable { file, cause });
            }
            return self.seal(id);
        }
        let has_left = log.has_left;
        self.close(id);
        if has_left {
            if let Some(log) = self.logs.get_mut(id) {
                log.carrier = None;
            }
            // A packed copy of it may have been waiting.
            self.scan_is_due = true;
        }
    }

    fn close(&mut self, id: LogId) {
        self.opened.retain(|other| *other != id);
        if let Some(log) = self.logs.get_mut(id) {
            log.open = None;
        }
    }

    /// Opens a log's file unless it is; false when the file is not there under its last name.
    fn open(&mut self, id: LogId) -> Result<bool, SourceError> {
        let Some(log) = self.logs.get(id) else { return Ok(false) };
        if log.open.is_some() {
            return Ok(true);
        }
        let Some(carrier) = log.carrier else { return Ok(false) };
        let path = Path::new(&log.name);
        let file = self.disk.open_read(path).and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = match file {
            Ok(file) => file,
            Err(error) => {
                let path = path.to_owned();
                if error.kind() != std::io::ErrorKind::NotFound {
                    self.trouble(path, error.to_string());
                    self.unsettle(id);
                }
                return Ok(false);
            }
        };
        if logs::key_of(&found.identity) != carrier {
            // It was renamed since it was listed; the next scan knows where it is.
            return Ok(false);
        }
        let opened = Opened::new(&file, log.packing).map_err(SourceError::disk("open", path))?;
        self.keep_open(id, opened);
        Ok(true)
    }

    fn keep_open(&mut self, id: LogId, opened: Opened) {
        if self.opened.len() >= OPEN_MAX {
            let current = self.current.map(|(id, _)| id);
            let may_close = |log: &logs::Log| !log.has_left && log.searched.is_none();
            let idle = self.opened.iter().filter(|id| current != Some(**id));
            let idle = idle.filter_map(|id| Some((*id, self.logs.get(*id)?)));
            let idle = idle.min_by_key(|(_, log)| (!may_close(log), log.turn));
            if let Some((idle, _)) = idle {
                self.close(idle);
            }
        }
        if let Some(log) = self.logs.get_mut(id) {
            log.open = Some(opened);
            self.opened.push(id);
        }
    }

    /// A log's bytes are not in its file any more: somebody emptied it.
    fn cut(&mut self, id: LogId) -> Result<(), SourceError> {
        self.current = None;
        self.close(id);
        self.unsettle(id);
        let Some(log) = self.logs.get_mut(id) else { return Ok(()) };
        log.was_cut = true;
        log.searched = None;
        self.scan_is_due = true;
        let Some(log) = self.logs.get(id).filter(|_| self.options.strict) else { return Ok(()) };
        self.refused.extend(log.hint.map(|hint| (hint, id)));
        Err(changed(log))
    }

    /// Takes a log's file from it; the next scan finds out whose it is.
    fn unsettle(&mut self, id: LogId) {
        let carrier = self.logs.get_mut(id).and_then(|log| log.carrier.take());
        if let Some(found) = carrier.and_then(|carrier| self.found.get_mut(&carrier)) {
            found.forget();
        }
    }

    /// Reports once that a file cannot be read.
    fn trouble(&mut self, path: PathBuf, cause: String) {
        if self.troubles.get(&path) != Some(&cause) {
            let file = path.display().to_string();
            self.reports.push_back(Report::Unreadable { file, cause: cause.clone() });
            self.troubles.insert(path, cause);
        }
    }

    fn step(&self, taken: &Taken) -> Step<'_> {
        let piece = |piece: &Piecemeal| Piece {
            file: self.logs.get(piece.log).map_or("", |log| &log.name),
            bytes: &self.buffer[piece.range.clone()],
            start: piece.start,
        };
        match taken {
            Taken::Lines(lines) => Step::Lines(piece(lines)),
            Taken::Torn(rest) => Step::Torn(piece(rest)),
            Taken::Oversized(beginning, length) => {
                Step::Oversized { beginning: piece(beginning), length: *length }
            }
            Taken::Searched | Taken::End | Taken::Cut => Step::CaughtUp,
        }
    }
}

impl Report {
    fn step(&self) -> Step<'_> {
        match self {
            Self::Lost { file, from, to } => Step::Lost { file, from: *from, to: *to },
            Self::Receded { file, from, to } => Step::Receded { file, from: *from, to: *to },
            Self::Unreadable { file, cause } => Step::Unreadable { file, cause },
        }
    }
}

fn changed(log: &logs::Log) -> SourceError {
    SourceError::Changed { path: PathBuf::from(&log.name), offset: log.mark.offset }
}

#[cfg(test)]
mod tests;
