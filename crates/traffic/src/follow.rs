//! Follows a log file, and reads a journal, as sources of bytes.
//!
//! A followed file is read on when it grows. After a rotation another file has its name. Then the
//! old one is read to its end, and the new one from its start. A file that has become
//! shorter is read from its start. `is_over` is asked at least ten times a second while nothing
//! comes, and ends the source.
//! What a journal lost or deleted is passed over and counted: whoever watches traffic has no place
//! to keep.
//! Refuses: to change what it reads.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use journal::{JournalRead, Reader};
use stdx::{Chain, RealDisk};

/// How long nothing is asked when there is nothing more.
const PAUSE: Duration = Duration::from_millis(100);
/// The same of a file that has just grown. What is written before `copytruncate` empties it is lost
/// unless it is read by then.
const SHORT_PAUSE: Duration = Duration::from_millis(2);
/// Short pauses after a file has grown.
const SHORT_PAUSES: u32 = 500;

/// Whether a source is to end though more may come.
type IsOver = Box<dyn FnMut() -> bool + Send>;

/// Where a source begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what is there.
    First,
    /// With what comes from now on.
    Now,
}

/// A file that is read on when it grows.
pub struct FollowedFile {
    path: PathBuf,
    file: File,
    /// The file that has the name now, once the old one has been read to its end.
    next: Option<File>,
    is_over: IsOver,
    /// Short pauses that are left.
    short_pauses: u32,
}

impl FollowedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, start: Start, is_over: IsOver) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if start == Start::Now {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self { path: path.to_owned(), file, next: None, is_over, short_pauses: 0 })
    }

    /// Finds the file that has the name now, or goes to the start of one that was cut.
    fn look_again(&mut self) -> io::Result<()> {
        let here = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) != (here.dev(), here.ino()) => {
                self.next = Some(File::open(&self.path)?);
            }
            Ok(_) if self.file.stream_position()? > here.len() => {
                self.file.seek(SeekFrom::Start(0))?;
            }
            // Between two files there is none.
            _ => {}
        }
        Ok(())
    }
}

impl Read for FollowedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.file.read(out)?;
            if read > 0 {
                self.short_pauses = SHORT_PAUSES;
            }
            let next = self.next.take_if(|_| read == 0 && !out.is_empty());
            if let Some(next) = next {
                self.file = next;
                continue;
            }
            if read > 0 || out.is_empty() || (self.is_over)() {
                return Ok(read);
            }
            thread::sleep(if self.short_pauses > 0 { SHORT_PAUSE } else { PAUSE });
            self.short_pauses = self.short_pauses.saturating_sub(1);
            match self.look_again() {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                looked => looked?,
            }
        }
    }
}

/// The lines of a journal.
pub struct JournalSource {
    reader: Reader,
    /// Lines that were read and not taken.
    pending: Vec<u8>,
    taken: usize,
    /// Whether it waits for more lines.
    follows: Option<IsOver>,
    /// Where nothing came though there should be more.
    stuck_at: Option<u64>,
    has_ended: bool,
    missing: Arc<AtomicU64>,
}

impl JournalSource {
    /// Opens the journal in a directory. With `follows` it waits for more at its end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(dir: &Path, start: Start, follows: Option<IsOver>) -> io::Result<Self> {
        let mut reader = Reader::open(dir, Arc::new(RealDisk)).map_err(in_words)?;
        if follows.is_none() && reader.segment_starts().map_err(in_words)?.is_empty() {
            let reason = "there is no segment of a journal; `[journal]` names its directory";
            return Err(io::Error::new(ErrorKind::NotFound, reason));
        }
        if start == Start::Now {
            let end = reader.end().map_err(in_words)?.to_string();
            let place = end.parse().map_err(|_| io::Error::other("the journal has no end"))?;
            (reader, _) = reader.resume(place).map_err(in_words)?;
        }
        let missing = Arc::default();
        let (pending, stuck_at) = (Vec::new(), None);
        Ok(Self { reader, pending, taken: 0, follows, stuck_at, has_ended: false, missing })
    }

    /// The bytes of lines that the journal should have and has not, as far as it was read.
    pub fn missing(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.missing)
    }

    /// Reads more lines; returns whether there were any at present.
    fn more(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.read().map_err(in_words)? {
                JournalRead::Lines(lines) => {
                    self.pending.clear();
                    self.pending.extend_from_slice(lines.bytes());
                    self.taken = 0;
                    return Ok(true);
                }
                JournalRead::CaughtUp => return Ok(false),
                JournalRead::Gap { from, to } | JournalRead::Lost { from, to } => {
                    self.missing.fetch_add(to.saturating_sub(from).max(1), Ordering::Relaxed);
                }
                JournalRead::Displaced(_) => {
                    self.missing.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

impl JournalSource {
    /// Whether all was read that the journal says it has. Where its files end before that, or
    /// cannot be read on, the rest is missing.
    fn is_at_its_end(&mut self) -> io::Result<bool> {
        let end = self.reader.end().map_err(in_words)?;
        let offset = self.reader.offset();
        if end <= offset {
            return Ok(true);
        }
        // More may have come since the last look; the same place twice is no more.
        if self.stuck_at != Some(offset) {
            self.stuck_at = Some(offset);
            return Ok(false);
        }
        self.missing.fetch_add(end - offset, Ordering::Relaxed);
        self.has_ended = true;
        Ok(true)
    }
}

impl Read for JournalSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.pending.len() {
            if self.has_ended {
                return Ok(0);
            }
            if self.more()? {
                continue;
            }
            let Some(is_over) = &mut self.follows else {
                if self.is_at_its_end()? {
                    return Ok(0);
                }
                continue;
            };
            if is_over() {
                return Ok(0);
            }
            thread::sleep(PAUSE);
        }
        let length = out.len().min(self.pending.len() - self.taken);
        out[..length].copy_from_slice(&self.pending[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}

fn in_words(error: journal::JournalError) -> io::Error {
    io::Error::other(Chain(&error).to_string())
}

#[cfg(test)]
mod tests;
