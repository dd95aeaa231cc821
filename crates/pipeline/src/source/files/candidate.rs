//! Opens a file that is to be recognised, and holds what it is recognised by.
//!
//! Invariant: a candidate is the very file that was listed, by device and inode. A name that is
//! another file's by now gives none, nor does a file that is empty or packed by bzip2 or xz.
//! It finds the logs that begin like it, and how it relates to each; `identify` decides.
//! `packed_mark` is how a packed file is known again without unpacking: its length and the hash of
//! its last 1,024 bytes. Positions in sinks contain it (`position`), so it must stay the same.
//! Never here: roles and carriers (`catalogue`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::{Disk, DiskFile, Metadata};

use super::file_table::ListedFile;
use super::identify::Suspect;
use super::log::{FileKey, Log, LogId, key_of};
use super::logs::Logs;
use super::mark::{Relation, WINDOW, WindowedContent, hash};
use super::unpack::{OpenLog, Packing};

/// A file that is being recognised.
pub(super) struct Candidate {
    pub key: FileKey,
    pub path: PathBuf,
    pub metadata: Metadata,
    pub file: Arc<dyn DiskFile>,
    pub packing: Packing,
    pub opened: OpenLog,
    /// The first bytes of the content.
    pub head: Vec<u8>,
}

/// What came of opening a file.
pub(super) enum Opening {
    /// It can be recognised.
    Ready(Box<Candidate>),
    /// The name is another file's by now.
    Renamed,
    /// It has no bytes yet.
    Empty,
    /// It is packed, and damaged before its first byte.
    Broken(String),
    /// It is packed in a way that is not read.
    NotRead(&'static str),
}

/// A file that was cut and begins as its log does, for so many bytes, was shortened.
const SHORTENED_MIN: usize = 256;

impl Candidate {
    /// Opens a file that was listed.
    pub(super) fn open(disk: &dyn Disk, listed: &ListedFile) -> io::Result<Opening> {
        let file = disk.open_read(&listed.path)?;
        let metadata = file.metadata()?;
        if key_of(&metadata.identity) != listed.key {
            return Ok(Opening::Renamed);
        }
        let mut start = [0; 8];
        let read = file.read_at(&mut start, 0)?;
        let packing = Packing::of(&start[..read]);
        if let Packing::Foreign(kind) = packing {
            return Ok(Opening::NotRead(kind));
        }
        let mut opened = OpenLog::new(&file, packing)?;
        let mut head = vec![0; WINDOW];
        let read = opened.read_at(&mut head, 0)?;
        head.truncate(read);
        if head.is_empty() {
            let damage = opened.damage().map(str::to_owned);
            return Ok(damage.map_or(Opening::Empty, Opening::Broken));
        }
        let (key, path) = (listed.key, listed.path.clone());
        let candidate = Self { key, path, metadata, file, packing, opened, head };
        Ok(Opening::Ready(Box::new(candidate)))
    }

    /// The log that a packed file is known to carry whole, by its own bytes.
    pub(super) fn packed_log(&self, logs: &Logs) -> io::Result<Option<LogId>> {
        if self.packing == Packing::Plain {
            return Ok(None);
        }
        Ok(packed_mark(&self.file)?.and_then(|packed| logs.find_packed(packed)))
    }

    /// Whether it has all that was read of a log.
    pub(super) fn has_all_of(&mut self, log: &Log) -> io::Result<bool> {
        Ok(log.mark.relation(&mut self.opened)? == Relation::Same)
    }

    /// The logs that begin like it, and how it relates to each.
    pub(super) fn suspects(&mut self, logs: &Logs) -> io::Result<Vec<Suspect>> {
        let mut suspects = Vec::new();
        for id in logs.like(&self.head) {
            let Some(log) = logs.get(id) else { continue };
            let relation = log.mark.relation(&mut self.opened)?;
            let was_cut = log.file.was_cut && log.file.hint == Some(self.metadata.identity);
            // Emptied, and begun anew with a few lines that are the same; or shortened.
            let is_emptied = relation != Relation::Beginning || self.head.len() < SHORTENED_MIN;
            if !(was_cut && is_emptied) {
                suspects.push(Suspect { log: id, offset: log.mark.offset, relation });
            }
        }
        Ok(suspects)
    }

    /// The file as it was when it was opened.
    pub(super) fn listed(&self) -> ListedFile {
        ListedFile { key: self.key, path: self.path.clone(), metadata: self.metadata }
    }

    /// Its first line, or what there is of it.
    pub(super) fn first_line(&self) -> &[u8] {
        let end = memchr::memchr(b'\n', &self.head);
        end.map_or(&*self.head, |end| &self.head[..=end])
    }

    /// The start of the first line at or after the offset `at` of its content.
    pub(super) fn line_start(&mut self, at: u64) -> io::Result<u64> {
        let mut from = at.saturating_sub(1);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = self.opened.read_at(&mut buffer, from)?;
            match memchr::memchr(b'\n', &buffer[..read]) {
                Some(end) => return Ok(from + end as u64 + 1),
                None if read == 0 => return Ok(from.max(at)),
                None => from += read as u64,
            }
        }
    }
}

/// Length and last hash of a packed file's own bytes, which end in a checksum of the content.
pub(super) fn packed_mark(file: &Arc<dyn DiskFile>) -> io::Result<Option<(u64, u64)>> {
    let length = file.len()?;
    let window = OpenLog::Plain(Arc::clone(file)).window(length)?;
    Ok(window.map(|window| (length, hash(&window))))
}

/// The same of the file at `path`; none when it cannot be read.
pub(super) fn packed_mark_at(disk: &dyn Disk, path: &Path) -> Option<(u64, u64)> {
    disk.open_read(path).and_then(|file| packed_mark(&file)).ok().flatten()
}
