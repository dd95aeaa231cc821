//! Keeps parts of flushes on disk until their backend is back.
//!
//! Each part is one file, named by a number that grows for as long as a part waits. It is written
//! aside and renamed: after a crash of the process it is there whole or not at all. It never syncs,
//! so a power cut may cost the parts that wait, as docs/STATSD.md says.
//! Parts wait over restarts, and each is in its backend's form as it was then. So a new version
//! must be able to send the parts of an old one, and to read the names of their files.
//! Invariant: parts leave oldest first, and each is delivered at least once, refused for good, or
//! displaced. The last two are counted. Bound: `bytes_max`; beyond it the oldest parts go. A part
//! that is larger alone is an error. Nothing locks the directory: it belongs to one server.
//! What is there and is no part is counted and said, and never opened: a fifo would block. Where it
//! has the name of a part it is set aside (`plain_file.rs`), else it is left alone.
//! Never here: sending, when to try again (`worker.rs`), the directory's name (`backend.rs`).

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::plain_file;

/// Digits of a part's name.
const DIGITS: usize = 20;
/// What no server counts parts up to: a larger number is none of a part.
const NUMBER_MAX: u64 = 1 << 60;

/// Parts in a folder of their own.
#[derive(Debug)]
pub(super) struct Spool {
    dir: PathBuf,
    bytes_max: u64,
    /// Number and bytes of each part, oldest first.
    parts: VecDeque<(u64, u64)>,
    bytes: u64,
    next: u64,
    displaced: u64,
    foreign: u64,
}

/// What there is to be said of a spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpoolFigures {
    /// Parts that had to go undelivered, since this was last asked.
    pub displaced: u64,
    /// Bytes that wait.
    pub bytes: u64,
    /// Things in the folder that are no parts.
    pub foreign: u64,
}

impl Spool {
    /// Opens a folder, with what waits there already; it is made when it is missing.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub(super) fn open(dir: &Path, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let (mut parts, mut next, mut foreign) = (Vec::new(), 0, 0);
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let (name, is_file) = (entry.file_name(), entry.file_type()?.is_file());
            let name = name.to_str().unwrap_or_default();
            match part_number(name) {
                Some(number) if is_file => parts.push((number, entry.metadata()?.len())),
                Some(number) => {
                    foreign += 1;
                    // Its name is not used again, whether it can be set aside or not.
                    next = next.max(number + 1);
                    if let Err(error) = plain_file::set_aside(&entry.path()) {
                        let path = entry.path();
                        tracing::error!(path = %path.display(), %error, "it stays, and is skipped");
                    }
                }
                // Left by a crash while it was written.
                None if is_file && name.strip_suffix(".new").is_some_and(is_part) => {
                    fs::remove_file(entry.path())?;
                }
                None => foreign += 1,
            }
        }
        if foreign > 0 {
            tracing::warn!(dir = %dir.display(), foreign, "not all that is in the spool is a part");
        }
        parts.sort_unstable();
        let bytes = parts.iter().map(|(_, bytes)| bytes).sum();
        let next = parts.last().map_or(next, |(number, _)| next.max(number + 1));
        let (dir, parts) = (dir.to_owned(), parts.into());
        Ok(Self { dir, bytes_max, parts, bytes, next, displaced: 0, foreign })
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// How it does, since this was last asked.
    pub(super) fn take_figures(&mut self) -> SpoolFigures {
        let displaced = std::mem::take(&mut self.displaced);
        SpoolFigures { displaced, bytes: self.bytes, foreign: self.foreign }
    }

    /// Adds a part; the oldest go where there is no room.
    ///
    /// # Errors
    /// When it is larger than the spool, or the disk does not take it.
    pub(super) fn push(&mut self, part: &[u8]) -> io::Result<()> {
        let bytes = part.len() as u64;
        if bytes > self.bytes_max {
            return Err(io::Error::other("it is larger than the spool"));
        }
        while self.bytes + bytes > self.bytes_max {
            self.remove_oldest()?;
            self.displaced += 1;
        }
        let number = self.next;
        let aside = self.dir.join(format!("{number:020}.new"));
        let written = plain_file::make(&aside)
            .and_then(|mut file| file.write_all(part))
            .and_then(|()| self.make_way(number))
            .and_then(|()| fs::rename(&aside, self.path(number)));
        if let Err(error) = written {
            // A file that could not be written may not be there to remove.
            let _ = fs::remove_file(&aside);
            return Err(error);
        }
        self.next += 1;
        self.parts.push_back((number, bytes));
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the number and the file of the oldest part behind `last`, or of the oldest.
    pub(super) fn next(&self, last: Option<u64>) -> Option<(u64, PathBuf)> {
        let at = last.map_or(0, |last| self.parts.partition_point(|(number, _)| *number <= last));
        self.parts.get(at).map(|(number, _)| (*number, self.path(*number)))
    }

    /// Reads the file of a part; none where something else is in its place by now.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub(super) fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
        let Some(mut opened) = plain_file::open(file)? else { return Ok(None) };
        let mut part = Vec::new();
        opened.read_to_end(&mut part)?;
        Ok(Some(part))
    }

    /// Removes a part that was delivered, unless it had to go meanwhile.
    ///
    /// # Errors
    /// When its file cannot be removed; then it still waits.
    pub(super) fn remove(&mut self, number: u64) -> io::Result<()> {
        let Ok(at) = self.parts.binary_search_by_key(&number, |(other, _)| *other) else {
            return Ok(());
        };
        match self.make_way(number).and_then(|()| fs::remove_file(self.path(number))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let removed = self.parts.remove(at);
        self.bytes -= removed.map_or(0, |(_, bytes)| bytes);
        Ok(())
    }

    /// Removes a part that will never be taken, and counts it as displaced.
    ///
    /// # Errors
    /// As for [`Self::remove`].
    pub(super) fn give_up(&mut self, number: u64) -> io::Result<()> {
        self.displaced += 1;
        self.remove(number)
    }

    fn remove_oldest(&mut self) -> io::Result<()> {
        self.parts.front().copied().map_or(Ok(()), |(number, _)| self.remove(number))
    }

    /// Sets aside what is in the place of a part, unless it is a file.
    fn make_way(&mut self, number: u64) -> io::Result<()> {
        let set_aside = plain_file::make_way(&self.path(number))?;
        self.foreign += u64::from(set_aside.is_some());
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:0DIGITS$}"))
    }
}

/// The number that a part of this name has.
fn part_number(name: &str) -> Option<u64> {
    let is_number = name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| name.parse().ok()).flatten();
    number.filter(|number| *number < NUMBER_MAX)
}

fn is_part(name: &str) -> bool {
    part_number(name).is_some()
}

#[cfg(test)]
mod tests;
