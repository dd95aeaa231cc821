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
//! Never here: sending, when to try again (`worker.rs`), the directory's name (`backend.rs`).

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
}

impl Spool {
    /// Opens a folder, with what waits there already; it is made when it is missing.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub(super) fn open(dir: &Path, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let mut parts = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            match name.to_str().and_then(|name| name.parse::<u64>().ok()) {
                Some(number) => parts.push((number, entry.metadata()?.len())),
                // Left by a crash while it was written.
                None if name.to_str().is_some_and(|name| name.ends_with(".new")) => {
                    fs::remove_file(entry.path())?;
                }
                None => {}
            }
        }
        parts.sort_unstable();
        let bytes = parts.iter().map(|(_, bytes)| bytes).sum();
        let next = parts.last().map_or(0, |(number, _)| number + 1);
        let dir = dir.to_owned();
        Ok(Self { dir, bytes_max, parts: parts.into(), bytes, next, displaced: 0 })
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Parts that had to go for newer ones, since this was last asked.
    pub(super) fn take_displaced(&mut self) -> u64 {
        std::mem::take(&mut self.displaced)
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
        let written = fs::write(&aside, part).and_then(|()| fs::rename(&aside, self.path(number)));
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

    /// Removes a part that was delivered, unless it had to go meanwhile.
    ///
    /// # Errors
    /// When its file cannot be removed; then it still waits.
    pub(super) fn remove(&mut self, number: u64) -> io::Result<()> {
        let Ok(at) = self.parts.binary_search_by_key(&number, |(other, _)| *other) else {
            return Ok(());
        };
        match fs::remove_file(self.path(number)) {
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

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:020}"))
    }
}
