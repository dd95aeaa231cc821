//! Reads a whole trail: the actions with their results, and each place where the chain breaks.
//!
//! A line is sound if its hash is that of its bytes. The chain holds if numbers follow each other,
//! and each entry names the hash of the one before. Behind a break the chain is taken up again at
//! the next sound entry.
//! Invariants: nothing is written. A line that is no entry is no break where the writer has closed
//! it: a note behind it names its length and hash. A last line that was cut off is none either, as
//! long as the head knows no later entry. The head is read first, for who may not lock the trail.
//! Who can write the directory can write the whole trail anew, and no reader sees that here: the
//! witnesses in syslog are for that (`witness.rs`).
//! Bounds: all entries are held in memory. Refuses: to choose among actions.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde::Serialize;
use stdx::Disk;

use crate::actor::Actor;
use crate::entry::{Entry, EntryLine, Kind, NO_HASH};
use crate::files::{self, HEAD, LOCK};
use crate::head::{FoundHead, TrailHead};
use crate::trail::{CLOSED, TrailError, lock, remnant};

/// A trail as it was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// In the order in which they began.
    pub actions: Vec<AuditedAction>,
    /// What the writer has noted of the trail itself.
    pub notes: Vec<Note>,
    /// Where the chain breaks, in order.
    pub breaks: Vec<Break>,
    /// What is no break, but was not as usual.
    pub remarks: Vec<String>,
    /// Sound entries.
    pub entries: u64,
    /// Files.
    pub files: usize,
    /// Hashes of sound entries by their numbers.
    pub(crate) hashes: HashMap<u64, String>,
}

impl Reading {
    /// Returns the number and the hash of the last entry.
    pub fn last(&self) -> Option<(u64, &str)> {
        let number = self.hashes.keys().max()?;
        Some((*number, self.hashes[number].as_str()))
    }
}

/// An action.
#[derive(Debug, Clone, Serialize)]
pub struct AuditedAction {
    /// The number of the entry that began it, or of the one that ended it where there is no other.
    pub number: u64,
    /// When that entry was written.
    pub time: String,
    /// Who did it.
    pub who: Actor,
    /// Its name.
    pub action: String,
    /// What it was done to.
    pub what: String,
    /// The entry of the result.
    pub ended: Option<u64>,
    /// When the result was written.
    pub ended_time: Option<String>,
    /// The result; nothing where the process ended, or still runs.
    pub result: Option<String>,
    /// Whether the bytes of its lines are as they were written.
    pub is_sound: bool,
}

/// What the writer has noted.
#[derive(Debug, Clone, Serialize)]
pub struct Note {
    /// The number of its entry.
    pub number: u64,
    /// When it was written.
    pub time: String,
    /// What it says.
    pub text: String,
}

/// What is wrong in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BreakKind {
    /// Bytes are others than those that were written.
    Edited,
    /// A file ends within a line.
    Cut,
    /// An entry stands there that was not written there.
    Inserted,
    /// Entries stand in another order.
    Reordered,
    /// Entries or files are not there.
    Missing,
    /// The last entries are not there.
    Tail,
    /// The file `head` is not as it was written.
    TrailHead,
}

/// A place where the chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Break {
    /// The name of the file.
    pub file: String,
    /// From 1 on.
    pub line: u64,
    /// Bytes from the start of the file to the line.
    pub offset: u64,
    /// What it is.
    pub kind: BreakKind,
    /// What is wrong.
    pub text: String,
}

/// Reads a trail.
///
/// # Errors
/// When the directory or a file of it cannot be read, or the lock is not free for seconds.
pub fn read(dir: &Path, disk: &dyn Disk) -> Result<Reading, TrailError> {
    let failed = |operation, path: &Path| {
        let path = path.to_owned();
        move |source| TrailError::Disk { operation, path, source }
    };
    // Before the lock, whose error would say less of a directory that is not there.
    let there = files::list(disk, dir).map_err(failed("read", dir))?;
    if there.is_empty() && [HEAD, LOCK].iter().all(|name| disk.metadata(&dir.join(name)).is_err()) {
        let source = io::Error::new(io::ErrorKind::NotFound, "it has no file of one");
        return Err(failed("find a trail in", dir)(source));
    }
    // A copy of a trail has no lock, or may not be written.
    let _lock = match disk.metadata(&dir.join(LOCK)) {
        Ok(_) => match lock(disk, dir) {
            Err(error @ TrailError::Locked { .. }) => return Err(error),
            locked => locked.ok(),
        },
        Err(_) => None,
    };
    // Entries that come meanwhile are no cut tail then.
    let head = TrailHead::read(disk, dir).map_err(failed("read", &dir.join(HEAD)))?;
    let numbers = files::list(disk, dir).map_err(failed("read", dir))?;
    let mut reader = Reader::default();
    let mut expected = 1;
    for number in &numbers {
        let path = dir.join(files::name(*number));
        reader.missing_files(expected, *number);
        expected = number.saturating_add(1);
        let read = disk.open_read(&path).and_then(|file| files::read_from(&*file, 0));
        reader.take(files::name(*number), read.map_err(failed("read", &path))?);
    }
    Ok(reader.finish(&head))
}

/// A line in its place.
struct EntryPlace {
    file: usize,
    line: u64,
    offset: u64,
    read: EntryLine,
    has_end: bool,
    /// Whether a note behind it says that it is no entry.
    is_closed: bool,
}

#[derive(Default)]
struct Reader {
    names: Vec<String>,
    lengths: Vec<u64>,
    places: Vec<EntryPlace>,
    breaks: Vec<Break>,
}

impl Reader {
    /// Says that files from one number to before another are not there.
    fn missing_files(&mut self, from: u64, to: u64) {
        let text = match to.saturating_sub(from) {
            0 => return,
            1 => "the file is missing".to_owned(),
            _ => format!("the files from here to {} are missing", files::name(to - 1)),
        };
        let (file, kind) = (files::name(from), BreakKind::Missing);
        self.breaks.push(Break { file, line: 1, offset: 0, kind, text });
    }

    /// Takes the lines of the next file.
    fn take(&mut self, name: String, bytes: Vec<u8>) {
        let file = self.names.len();
        let first = self.places.len();
        let mut offset = 0;
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let bare = line.strip_suffix(b"\n");
            self.places.push(EntryPlace {
                file,
                line: at as u64 + 1,
                offset,
                read: EntryLine::read(bare.unwrap_or(line)),
                has_end: bare.is_some(),
                is_closed: false,
            });
            offset += line.len() as u64;
        }
        self.close(first, &bytes);
        self.names.push(name);
        self.lengths.push(bytes.len() as u64);
    }

    /// Finds the lines of a file that a note names as no entries.
    fn close(&mut self, first: usize, bytes: &[u8]) {
        let mut bad = first;
        for at in first..self.places.len() {
            let place = &self.places[at];
            if !place.read.is_sound {
                continue;
            }
            let note = place.read.entry.as_ref().filter(|entry| entry.action == CLOSED);
            let rest = &bytes[self.places[bad].offset as usize..place.offset as usize];
            if note.is_some_and(|note| note.what == remnant(rest)) {
                self.places[bad..at].iter_mut().for_each(|place| place.is_closed = true);
            }
            bad = at + 1;
        }
    }

    fn finish(self, head: &FoundHead) -> Reading {
        let Self { names, lengths, places, breaks } = self;
        let mut numbers = HashMap::new();
        for entry in places.iter().filter_map(|place| place.read.entry.as_ref()) {
            *numbers.entry(entry.number).or_insert(0_u32) += 1;
        }
        let reading = Reading { breaks, files: names.len(), ..Reading::default() };
        let mut chain = Chain {
            names: &names,
            numbers,
            next: 1,
            before: Some(NO_HASH.to_owned()),
            skipped: 0,
            lines: HashMap::new(),
            begun: HashMap::new(),
            reading,
        };
        let last = places.len().saturating_sub(1);
        let lines = places.last().filter(|place| place.file + 1 == names.len());
        let lines = lines.map_or(0, |place| place.line);
        for (at, place) in places.into_iter().enumerate() {
            let is_last = at == last;
            chain.take(place, is_last, head);
        }
        let length = lengths.last().copied().unwrap_or(0);
        let name = names.last().map_or_else(|| files::name(1), Clone::clone);
        chain.judge_head(head, (name, lines + 1, length));
        chain.reading
    }
}

/// How far the chain was followed.
struct Chain<'a> {
    names: &'a [String],
    /// How often each number stands somewhere.
    numbers: HashMap<u64, u32>,
    next: u64,
    /// The hash that the next entry must name; nothing behind a line that cannot be read.
    before: Option<String>,
    /// Lines since the last entry that could not be read: each may have been one.
    skipped: u64,
    /// Where each number was met first.
    lines: HashMap<u64, String>,
    /// Indices of actions by the entries that began them.
    begun: HashMap<u64, usize>,
    reading: Reading,
}

impl Chain<'_> {
    fn take(&mut self, place: EntryPlace, is_last: bool, head: &FoundHead) {
        if !place.has_end && !is_last {
            self.wrong(&place, BreakKind::Cut, "the file ends within this line".to_owned());
        } else if !place.has_end && !place.is_closed {
            let knows_more = match head {
                FoundHead::Sound(head) => head.number >= self.next,
                _ => true,
            };
            if !knows_more {
                let name = &self.names[place.file];
                self.reading.remarks.push(format!(
                    "{name}: line {} is unfinished: the process or the power ended meanwhile; the \
                     next entry closes it",
                    place.line
                ));
                return;
            }
            self.wrong(&place, BreakKind::Cut, "the line has no end".to_owned());
        }
        if place.read.is_sound {
            self.follow(&place);
        } else if !place.is_closed {
            self.bad(&place);
        }
        let EntryPlace { read: EntryLine { entry, hash, is_sound }, .. } = place;
        if let Some(entry) = entry {
            self.record(entry, hash.filter(|_| is_sound));
        }
    }

    /// A line whose bytes do not give its hash.
    fn bad(&mut self, place: &EntryPlace) {
        if place.has_end {
            let text = match &place.read.entry {
                Some(entry) => format!("entry {}: its bytes do not give its hash", entry.number),
                None => "the line is no entry".to_owned(),
            };
            self.wrong(place, BreakKind::Edited, text);
        }
        match &place.read.entry {
            Some(entry) if entry.number == self.next => {
                self.next = self.next.saturating_add(1);
                self.before.clone_from(&place.read.hash);
            }
            _ => {
                self.skipped += 1;
                self.before = None;
            }
        }
    }

    /// A sound line.
    fn follow(&mut self, place: &EntryPlace) {
        let (Some(entry), Some(hash)) = (&place.read.entry, &place.read.hash) else { return };
        let number = entry.number;
        let here = format!("{} line {}", self.names[place.file], place.line);
        if let Some(first) = self.lines.get(&number) {
            let text = format!("entry {number} stands on {first} already");
            return self.wrong(place, BreakKind::Inserted, text);
        }
        self.lines.insert(number, here);
        if number < self.next {
            let text = format!("entry {number} stands behind entry {}", self.next - 1);
            return self.wrong(place, BreakKind::Reordered, text);
        }
        if number > self.next.saturating_add(self.skipped) {
            let mut between = self.next..number;
            let kind = match between.all(|number| self.numbers.contains_key(&number)) {
                true => BreakKind::Reordered,
                false => BreakKind::Missing,
            };
            let text = match (kind, number - self.next) {
                (BreakKind::Reordered, _) => {
                    format!("entry {number} stands here in place of entry {}", self.next)
                }
                (_, 1) => format!("entry {} is missing before entry {number}", self.next),
                _ => {
                    let last = number - 1;
                    format!("entries {} to {last} are missing before entry {number}", self.next)
                }
            };
            self.wrong(place, kind, text);
        } else if self.before.as_ref().is_some_and(|before| *before != entry.before) {
            let text =
                format!("entry {number} does not follow the line before: one of both was replaced");
            self.wrong(place, BreakKind::Edited, text);
        }
        self.next = number.saturating_add(1);
        self.skipped = 0;
        self.before = Some(hash.clone());
    }

    /// Takes what an entry says of an action. Only sound ones have a `hash` here.
    fn record(&mut self, entry: Entry, hash: Option<String>) {
        let is_sound = hash.is_some();
        let number = entry.number;
        if let Some(hash) = hash {
            self.reading.entries += 1;
            self.reading.hashes.entry(number).or_insert(hash);
        }
        let begun = entry.of.and_then(|of| self.begun.get(&of));
        let actions = &mut self.reading.actions;
        match (entry.kind, begun.map(|at| &mut actions[*at])) {
            (Kind::Note, _) => {
                let text = format!("{}: {}", entry.action, entry.what);
                self.reading.notes.push(Note { number, time: entry.time, text });
            }
            (Kind::Ended, Some(action)) if action.ended.is_none() => {
                action.ended = Some(number);
                action.ended_time = Some(entry.time);
                action.result = entry.result;
                action.is_sound &= is_sound;
            }
            (kind, _) => {
                let is_ended = kind == Kind::Ended;
                if !is_ended {
                    self.begun.insert(number, actions.len());
                }
                actions.push(AuditedAction {
                    number,
                    time: entry.time.clone(),
                    who: entry.who,
                    action: entry.action,
                    what: entry.what,
                    ended: is_ended.then_some(number),
                    ended_time: is_ended.then_some(entry.time),
                    result: entry.result,
                    is_sound,
                });
            }
        }
    }

    fn judge_head(&mut self, head: &FoundHead, end: (String, u64, u64)) {
        let last = self.next - 1;
        let in_head = |kind, text| Break { file: HEAD.to_owned(), line: 1, offset: 0, kind, text };
        let found = match head {
            FoundHead::Missing if last == 0 && self.reading.files == 0 => return,
            FoundHead::Missing => in_head(BreakKind::TrailHead, "the file is missing".to_owned()),
            FoundHead::Damaged => {
                in_head(BreakKind::TrailHead, "it is not as it was written".to_owned())
            }
            FoundHead::Sound(head) if head.number > last => {
                let (number, (file, line, offset)) = (head.number, end);
                let text = match last {
                    0 => format!("the tail is cut: `head` knows entry {number}, there is none"),
                    _ => {
                        format!("the tail is cut: `head` knows entry {number}, the last is {last}")
                    }
                };
                Break { file, line, offset, kind: BreakKind::Tail, text }
            }
            FoundHead::Sound(head) => {
                let hash = match head.number {
                    0 => Some(NO_HASH),
                    number => self.reading.hashes.get(&number).map(String::as_str),
                };
                if hash.is_none_or(|hash| hash == head.hash) {
                    if head.number < last {
                        let number = head.number;
                        self.reading.remarks.push(format!(
                            "`head` knows entry {number} only, as after a crash; the last is {last}"
                        ));
                    }
                    return;
                }
                let text = format!("it has another hash than entry {}", head.number);
                in_head(BreakKind::TrailHead, text)
            }
        };
        self.reading.breaks.push(found);
    }

    fn wrong(&mut self, place: &EntryPlace, kind: BreakKind, text: String) {
        let file = self.names[place.file].clone();
        let (line, offset) = (place.line, place.offset);
        self.reading.breaks.push(Break { file, line, offset, kind, text });
    }
}

impl std::fmt::Display for Break {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, offset, kind, text } = self;
        let kind = match kind {
            BreakKind::Edited => "edited",
            BreakKind::Cut => "cut",
            BreakKind::Inserted => "inserted",
            BreakKind::Reordered => "reordered",
            BreakKind::Missing => "missing",
            BreakKind::Tail => "cut",
            BreakKind::TrailHead => "edited",
        };
        write!(f, "{file}, line {line}, byte {offset}: {kind}: {text}")
    }
}

#[cfg(test)]
mod tests;
