//! Keeps lines that are no events, with their place and reason: `data/quarantine/*.ndjson`.
//!
//! One line of JSON each: `batch`, `file`, `offset`, `reason` and `line`. The line is escaped so
//! that any bytes read back as they were. `recount/src/sink.rs` reads `offset`, operators the rest
//! (docs/operating/log-formats.md). `resume` finds the batch in the first 40 bytes of an entry, so
//! `batch` must stay its first key.
//! Invariant: an entry carries the number of the batch that its line is committed with. It is
//! written before that batch is handed over, and `delivery` syncs it. At a resume the entries past
//! the checkpoint are cut, because their lines are read again. So nothing is in it twice, and what
//! is missing was counted as dropped.
//! This ends where the disk fails. If the file cannot be read at a resume, nothing is cut. If it
//! cannot be synced, the batch goes all the same. Both are logged.
//! Whoever moves the file away, removes or empties it has its lines; the next one begins it anew.
//! Past the bound entries are dropped and counted. The pipeline never ends because of this file,
//! and never waits for room in it; a slow disk slows it. Never here: the file's name (`tidegate`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stdx::{Disk, DiskFile};

use crate::chunk::LineLocation;
use crate::error::LineError;
use crate::status::Status;

/// Bytes that wait to be written together.
const BUFFER: usize = 256 << 10;
const CHUNK: usize = 1 << 20;

/// The quarantine of one pipeline.
pub struct Quarantine {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    bytes_max: u64,
    file: Option<Arc<dyn DiskFile>>,
    /// Of the file, without what waits.
    length: u64,
    /// Something may stand in the file past `length`.
    is_torn: bool,
    waiting: Vec<u8>,
    waiting_entries: u64,
    batch: u64,
    /// Entries of the batch under way.
    entries: u64,
    status: Arc<Status>,
}

impl Quarantine {
    /// A quarantine in `path` of at most `bytes_max`, which is read at [`Quarantine::resume`].
    pub fn new(path: PathBuf, disk: Arc<dyn Disk>, bytes_max: u64, status: Arc<Status>) -> Self {
        Self {
            path,
            disk,
            bytes_max,
            file: None,
            length: 0,
            is_torn: false,
            waiting: Vec::new(),
            waiting_entries: 0,
            batch: 1,
            entries: 0,
            status,
        }
    }

    /// Cuts the entries of batches after `committed`.
    pub fn resume(&mut self, committed: u64) {
        self.waiting.clear();
        self.waiting_entries = 0;
        self.entries = 0;
        self.batch = committed + 1;
        self.file = None;
        self.length = 0;
        self.is_torn = false;
        let opened = match self.disk.open_append(&self.path) {
            Ok(file) => kept(&*file, committed).and_then(|length| {
                file.truncate(length)?;
                Ok((file, length))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => Err(error),
        };
        match opened {
            Ok((file, length)) => (self.file, self.length) = (Some(file), length),
            Err(error) => self.complain("read", &error),
        }
    }

    /// Keeps a line.
    pub(crate) fn add(&mut self, location: LineLocation<'_>, reason: &LineError, line: &[u8]) {
        let LineLocation { file, offset } = location;
        Status::count(&self.status.quarantined, 1);
        let reason = reason.to_string();
        if self.entries == 0 {
            tracing::warn!(file, offset, reason, "a line goes to quarantine, more may follow");
        }
        self.entries += 1;
        let room = self.bytes_max.saturating_sub(self.length + self.waiting.len() as u64);
        let before = self.waiting.len();
        if room < line.len() as u64 {
            return self.drop_entries(1);
        }
        self.waiting.extend_from_slice(b"{\"batch\":");
        self.waiting.extend_from_slice(self.batch.to_string().as_bytes());
        self.waiting.extend_from_slice(b",\"file\":\"");
        exchange::escape_json(file.as_bytes(), &mut self.waiting);
        self.waiting.extend_from_slice(b"\",\"offset\":");
        self.waiting.extend_from_slice(offset.to_string().as_bytes());
        self.waiting.extend_from_slice(b",\"reason\":\"");
        exchange::escape_json(reason.as_bytes(), &mut self.waiting);
        self.waiting.extend_from_slice(b"\",\"line\":\"");
        exchange::escape_json(line, &mut self.waiting);
        self.waiting.extend_from_slice(b"\"}\n");
        if (self.waiting.len() - before) as u64 > room {
            self.waiting.truncate(before);
            return self.drop_entries(1);
        }
        self.waiting_entries += 1;
        if self.waiting.len() >= BUFFER {
            self.write();
        }
    }

    /// Writes the entries of the batch that is handed over. What is returned must be synced before
    /// the batch is committed. Later entries belong to the next batch.
    pub fn close_batch(&mut self) -> Option<Arc<dyn DiskFile>> {
        self.write();
        self.batch += 1;
        let had_entries = std::mem::take(&mut self.entries) > 0;
        self.file.clone().filter(|_| had_entries)
    }

    fn write(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let outcome = self.open().and_then(|file| {
            if self.is_torn {
                file.truncate(self.length)?;
            }
            // Half an entry must not stay.
            self.is_torn = true;
            append(&*file, &self.waiting)?;
            self.is_torn = false;
            Ok(())
        });
        match outcome {
            Ok(()) => self.length += self.waiting.len() as u64,
            Err(error) => {
                self.complain("write", &error);
                self.drop_entries(self.waiting_entries);
            }
        }
        self.waiting.clear();
        self.waiting_entries = 0;
    }

    fn open(&mut self) -> io::Result<Arc<dyn DiskFile>> {
        if let Some(file) = self.file.take() {
            // Operators take the file away, or empty it, once they have dealt with its lines.
            let written = file.metadata()?;
            let named = self.disk.metadata(&self.path);
            if named.is_ok_and(|named| named.identity == written.identity) {
                self.length = self.length.min(written.len);
                self.file = Some(Arc::clone(&file));
                return Ok(file);
            }
            self.is_torn = false;
        }
        let dir = self.path.parent().unwrap_or(Path::new("."));
        self.disk.create_dir_all(dir)?;
        let file = match self.disk.create(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.disk.open_append(&self.path)?
            }
            file => file?,
        };
        self.disk.sync_dir(dir)?;
        self.length = file.len()?;
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }

    fn drop_entries(&self, entries: u64) {
        let dropped = self.status.quarantine_dropped.fetch_add(entries, Ordering::Relaxed);
        if dropped == 0 && entries > 0 {
            let (path, bytes_max) = (self.path.display(), self.bytes_max);
            tracing::error!(%path, bytes_max, "the quarantine is full, or cannot be written");
        }
    }

    fn complain(&self, operation: &str, error: &io::Error) {
        let path = self.path.display();
        tracing::error!(%path, %error, "cannot {operation} the quarantine; its lines are counted");
    }
}

/// The length of the file up to the first entry of a batch after `committed`, or half an entry.
fn kept(file: &dyn DiskFile, committed: u64) -> io::Result<u64> {
    let mut chunk = vec![0; CHUNK];
    // The start of the line under way, and its first bytes, which hold the batch.
    let (mut start, mut at, mut head) = (0_u64, 0_u64, Vec::new());
    loop {
        let read = file.read_at(&mut chunk, at)?;
        if read == 0 {
            return Ok(start);
        }
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', &chunk[..read]) {
            extend_head(&mut head, &chunk[from..end]);
            if batch_of(&head).is_some_and(|batch| batch > committed) {
                return Ok(start);
            }
            head.clear();
            from = end + 1;
            start = at + from as u64;
        }
        extend_head(&mut head, &chunk[from..read]);
        at += read as u64;
    }
}

fn extend_head(head: &mut Vec<u8>, more: &[u8]) {
    const LONGEST: usize = 40;
    let wanted = LONGEST.saturating_sub(head.len());
    head.extend_from_slice(&more[..more.len().min(wanted)]);
}

/// The batch of an entry. Nothing for a line that is no entry: it was written by another program,
/// and it stays.
fn batch_of(head: &[u8]) -> Option<u64> {
    let digits = head.strip_prefix(b"{\"batch\":")?;
    let end = memchr::memchr(b',', digits)?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn append(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => bytes = &bytes[taken..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
