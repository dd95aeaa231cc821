//! Appends entries to a trail: under a lock, behind the last sound entry, synced, then the head.
//!
//! Invariants: an entry continues the chain over files, restarts and processes. What stands behind
//! the last sound entry is never overwritten. The power or a full disk may cut a line off. A line
//! end closes it, and a note names its length and hash. Where the head knows a later entry than
//! there is, numbers go on behind that one, and the gap stays. So they do where this process has
//! written a later one: who removes a trail leaves a gap. A head that is missing or wrong is noted
//! before it is written anew.
//! Bounds: the lock is waited for five seconds, so that no stopped process stops a kill switch. A
//! file that has its size is followed by the next.
//! Refuses: to decide what an action does when an entry cannot be written (`recorder.rs`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stdx::{Clock, Disk, DiskFile};

use crate::actor::Actor;
use crate::entry::{Entry, EntryLine, HASH_LENGTH, Kind, LINE_BYTES_MAX, NO_HASH, TEXT_BYTES_MAX};
use crate::entry::{cut, hash_of, rfc3339};
use crate::files::{self, LOCK};
use crate::head::{FoundHead, TrailHead};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_STEP: Duration = Duration::from_millis(1);
/// The action of a note about an unfinished line; `reading.rs` knows it.
pub(crate) const CLOSED: &str = "unfinished line";
/// The action of a note about the head.
const HEAD_NOTE: &str = "head";

/// A trail cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TrailError {
    /// Another process has held the lock for seconds.
    #[error("lock `{}`: another process has it for {} s", .path.display(), LOCK_TIMEOUT.as_secs())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The disk refuses.
    #[error("{operation} `{}`", .path.display())]
    Disk {
        /// What was tried.
        operation: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A trail in a directory.
pub struct Trail {
    pub(crate) dir: PathBuf,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    file_bytes_max: u64,
    /// The last entry that this process has written.
    written: Mutex<TrailHead>,
}

/// What an entry is to say.
#[derive(Debug, Clone)]
pub(crate) struct Draft<'a> {
    pub kind: Kind,
    pub of: Option<u64>,
    pub who: &'a Actor,
    pub action: &'a str,
    pub what: &'a str,
    pub result: Option<&'a str>,
}

/// An entry that is on disk.
#[derive(Debug)]
pub(crate) struct Appended {
    pub number: u64,
    pub hash: String,
    /// What was found damaged before, and noted in the trail.
    pub found: Vec<String>,
    /// Why the head could not be written.
    pub head_error: Option<TrailError>,
}

/// Where a trail ends.
struct TrailEnd {
    /// The last sound entry, or that of the head if it is later.
    last: TrailHead,
    /// The last file with its length.
    file: Option<(u64, u64)>,
    /// Whether the last file ends within a line.
    is_unfinished: bool,
    /// What has to be noted: the action, and what was found.
    notes: Vec<(&'static str, String)>,
}

impl Trail {
    /// A trail in a directory, which is made with the first entry.
    pub fn new(
        dir: PathBuf,
        file_bytes_max: u64,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { dir, disk, clock, file_bytes_max, written: Mutex::default() }
    }

    /// Writes an entry to the disk.
    pub(crate) fn append(&self, draft: &Draft<'_>) -> Result<Appended, TrailError> {
        let made = self.disk.create_dir_all(&self.dir);
        made.map_err(self.failed("make the directory", &self.dir))?;
        let _lock = lock(&*self.disk, &self.dir)?;
        let end = self.end()?;
        let file = self.file(&end)?;
        let mut last = end.last;
        let mut bytes = if end.is_unfinished { "\n".to_owned() } else { String::new() };
        let nobody = Actor::default();
        for (action, what) in &end.notes {
            let (kind, result) = (Kind::Note, None);
            let note = Draft { kind, of: None, who: &nobody, action, what, result };
            bytes += &self.line(&note, &mut last);
        }
        bytes += &self.line(draft, &mut last);
        files::append(&*file.1, bytes.as_bytes()).map_err(self.failed("write", &file.0))?;
        file.1.sync().map_err(self.failed("sync", &file.0))?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&last);
        let written = last.write(&*self.disk, &self.dir);
        let head_error = written.map_err(self.failed("write `head` in", &self.dir)).err();
        let found = end.notes.into_iter().map(|(action, what)| format!("{action}: {what}"));
        Ok(Appended { number: last.number, hash: last.hash, found: found.collect(), head_error })
    }

    /// Writes a head that could not be written with its entry.
    pub(crate) fn renew_head(&self) -> Result<(), TrailError> {
        let _lock = lock(&*self.disk, &self.dir)?;
        let end = self.end()?;
        if !end.notes.is_empty() {
            // The next entry notes what was found, and only then writes the head.
            return Ok(());
        }
        end.last.write(&*self.disk, &self.dir).map_err(self.failed("write `head` in", &self.dir))
    }

    /// Returns the line of the next entry, which becomes the last.
    fn line(&self, draft: &Draft<'_>, last: &mut TrailHead) -> String {
        let text = |text: &str| cut(text, TEXT_BYTES_MAX);
        let mut who = draft.who.clone();
        for part in [&mut who.client, &mut who.user, &mut who.sudo_user] {
            *part = part.as_deref().map(text);
        }
        let entry = Entry {
            // Whoever can write the head can write any number there.
            number: last.number.saturating_add(1),
            time: rfc3339(self.clock.unix_micros()),
            kind: draft.kind,
            of: draft.of,
            who,
            action: cut(draft.action, 200),
            what: text(draft.what),
            result: draft.result.map(text),
            before: last.hash.clone(),
        };
        let (line, hash) = entry.line();
        debug_assert!(line.len() <= LINE_BYTES_MAX, "every text of an entry is bounded");
        *last = TrailHead { number: entry.number, hash };
        line
    }

    /// Opens the last file, or the next one if that one has its size.
    fn file(&self, end: &TrailEnd) -> Result<(PathBuf, Arc<dyn DiskFile>), TrailError> {
        let has_room = |length: u64| {
            length < self.file_bytes_max || end.is_unfinished || !end.notes.is_empty()
        };
        if let Some((number, length)) = end.file
            && has_room(length)
        {
            let path = self.dir.join(files::name(number));
            let file = self.disk.open_append(&path).map_err(self.failed("open", &path))?;
            return Ok((path, file));
        }
        let number = end.file.map_or(1, |(number, _)| number.saturating_add(1));
        let path = self.dir.join(files::name(number));
        if end.file.is_none() && end.last.number == 0 {
            // Before any file, so that a trail without a head is known to have lost it.
            let written = TrailHead::default().write(&*self.disk, &self.dir);
            written.map_err(self.failed("write `head` in", &self.dir))?;
        }
        let file = self.disk.create(&path).map_err(self.failed("create", &path))?;
        self.disk.sync_dir(&self.dir).map_err(self.failed("sync", &self.dir))?;
        Ok((path, file))
    }

    fn end(&self) -> Result<TrailEnd, TrailError> {
        let numbers =
            files::list(&*self.disk, &self.dir).map_err(self.failed("list", &self.dir))?;
        let mut end = TrailEnd {
            last: TrailHead::default(),
            file: None,
            is_unfinished: false,
            notes: vec![],
        };
        let mut rest = Vec::new();
        for number in numbers.iter().rev() {
            let path = self.dir.join(files::name(*number));
            let tail = self.tail(&path).map_err(self.failed("read", &path))?;
            if end.file.is_none() {
                end.file = Some((*number, tail.length));
                end.is_unfinished = tail.is_unfinished;
                rest = tail.rest;
            }
            if let Some(last) = tail.last {
                end.last = last;
                break;
            }
        }
        let head =
            TrailHead::read(&*self.disk, &self.dir).map_err(self.failed("read", &self.dir))?;
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if written.number > end.last.number {
            end.last = written;
        }
        match head {
            FoundHead::Sound(head) if head.number > end.last.number => {
                end.last = head;
                return Ok(end);
            }
            FoundHead::Sound(head) if head.number < end.last.number => {}
            FoundHead::Sound(head) if head.hash == end.last.hash => {}
            FoundHead::Missing if end.file.is_none() => {}
            FoundHead::Sound(_) => {
                end.notes.push((HEAD_NOTE, "it had another hash than the last entry".to_owned()));
            }
            FoundHead::Missing => end.notes.push((HEAD_NOTE, "it was missing".to_owned())),
            FoundHead::Damaged => end.notes.push((HEAD_NOTE, "it was damaged".to_owned())),
        }
        if !rest.is_empty() {
            if end.is_unfinished {
                rest.push(b'\n');
            }
            // First, because it must be the line behind the unfinished one.
            end.notes.insert(0, (CLOSED, remnant(&rest)));
        }
        Ok(end)
    }

    /// Finds the last sound entry of a file, and what stands behind it.
    fn tail(&self, path: &Path) -> io::Result<Tail> {
        let file = self.disk.open_read(path)?;
        let length = file.len()?;
        let mut window = 2 * LINE_BYTES_MAX as u64;
        loop {
            let offset = length.saturating_sub(window);
            let bytes = files::read_from(&*file, offset)?;
            // The window may begin within a line.
            let begin = match offset {
                0 => 0,
                _ => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1),
            };
            let (last, behind) = last_sound(&bytes[begin..]);
            if last.is_some() || offset == 0 {
                let rest = bytes[begin + behind..].to_vec();
                let is_unfinished = bytes.last().is_some_and(|byte| *byte != b'\n');
                return Ok(Tail { last, rest, is_unfinished, length });
            }
            window *= 2;
        }
    }

    fn failed<'a>(
        &self,
        operation: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> TrailError + use<'a> {
        move |source| TrailError::Disk { operation, path: path.to_owned(), source }
    }
}

/// The end of a file.
struct Tail {
    last: Option<TrailHead>,
    /// What stands behind the last sound entry.
    rest: Vec<u8>,
    /// Whether the last line has no end.
    is_unfinished: bool,
    length: u64,
}

/// Returns the last sound entry, and where it ends.
fn last_sound(bytes: &[u8]) -> (Option<TrailHead>, usize) {
    let mut end = bytes.len();
    loop {
        // One whose end alone was cut off is sound, too.
        let begin = bytes[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = EntryLine::read(&bytes[begin..end]);
        if let (true, Some(entry), Some(hash)) = (line.is_sound, line.entry, line.hash) {
            return (Some(TrailHead { number: entry.number, hash }), (end + 1).min(bytes.len()));
        }
        if begin == 0 {
            return (None, 0);
        }
        end = begin - 1;
    }
}

/// Names bytes that are no entry, such as a line that the power cut off. So a reader can tell them
/// from bytes that were put there later.
pub(crate) fn remnant(bytes: &[u8]) -> String {
    format!(
        "{} bytes before this line are no entry; their SHA-256 is {}",
        bytes.len(),
        hash_of(bytes)
    )
}

/// Takes the lock of a trail.
pub(crate) fn lock(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn Send + Sync>, TrailError> {
    let path = dir.join(LOCK);
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match disk.lock(&path) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Err(TrailError::Disk { operation: "lock", path, source: error });
            }
            Err(_) if Instant::now() >= deadline => return Err(TrailError::Locked { path }),
            Err(_) => std::thread::sleep(LOCK_STEP),
            Ok(lock) => return Ok(lock),
        }
    }
}

const _: () = assert!(NO_HASH.len() == HASH_LENGTH);

impl std::fmt::Debug for Trail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trail").field("dir", &self.dir).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
