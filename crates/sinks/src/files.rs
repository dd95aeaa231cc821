//! Delivers into files, `ndjson:DIR` and `csv:DIR`: one file a table, appended to.
//!
//! A file cannot merge rows. It gets what each batch adds, and whoever reads it merges by key.
//! `checkpoints.json` holds the checkpoints and the length of every file. Rows are appended and
//! synced, then one rename replaces `checkpoints.json`: the commit. An unknown member there is
//! refused, so an older version stops at a new member.
//! Invariant: what lies behind the length that `checkpoints.json` names was not committed. It is
//! cut off before the next rows are appended.
//! Writers take turns by a lock on the file `lock`, which ends with its process. Operators take
//! this lock to move a file away (docs/operating/sinks.md), so its name stays. After 10 s of
//! waiting a writer is `Unreachable`. A second writer of one source finds another sequence.
//! Refuses: to append to a file shorter than what was delivered into it, or to a CSV file with
//! another header. A file that is empty or was moved away begins anew.
//! Elsewhere: the text of rows and headers (`files/encode.rs`).

mod encode;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pipeline::{Batch, Checkpoint, Sink, SinkError, Table};
use serde::{Deserialize, Serialize};
use stdx::plain_file;

pub(crate) use encode::Format;

/// How long another writer may hold the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
const CHECKPOINTS: &str = "checkpoints.json";
/// What is read of it at most; a place takes some hundred bytes.
const CHECKPOINTS_BYTES_MAX: u64 = 64 << 20;

/// Delivers into a directory of files.
#[derive(Debug)]
pub struct FileSink {
    dir: PathBuf,
    format: Format,
    lock_timeout: Duration,
}

/// What `checkpoints.json` holds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Committed {
    checkpoints: Vec<CheckpointEntry>,
    /// Bytes of each file.
    files: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointEntry {
    node: String,
    source: String,
    sequence: u64,
    position: String,
}

impl FileSink {
    /// A sink for the directory `dir`, which is made when it is first used.
    pub(crate) fn new(dir: &Path, format: Format) -> Self {
        Self { dir: dir.to_owned(), format, lock_timeout: LOCK_TIMEOUT }
    }

    fn file(&self, table: &Table) -> String {
        format!("{}.{}", table.name, self.format.extension())
    }

    /// Does a piece of work while nobody else writes.
    fn alone<T>(
        &self,
        work: impl FnOnce(&mut Committed) -> Result<T, FileSinkError>,
    ) -> Result<T, SinkError> {
        let place = || self.dir.display().to_string();
        let done = self.lock().and_then(|lock| {
            let mut committed = self.committed()?;
            let done = work(&mut committed);
            drop(lock);
            done
        });
        let engine = self.format.extension();
        done.map_err(|error| match error {
            FileSinkError::Final(error) => error,
            FileSinkError::Refused(reason) => SinkError::Refused { engine, place: place(), reason },
            FileSinkError::Disk(reason) => {
                SinkError::Unreachable { engine, place: place(), reason }
            }
        })
    }

    fn lock(&self) -> Result<File, FileSinkError> {
        fs::create_dir_all(&self.dir).map_err(disk("make", &self.dir))?;
        let path = self.dir.join("lock");
        let file = plain_file::append(&path);
        let file = file.map_err(disk("open", &path))?;
        let deadline = Instant::now() + self.lock_timeout;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(disk("lock", &path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(POLL);
                }
                Err(TryLockError::WouldBlock) => {
                    let reason = format!("another process holds `{}`", path.display());
                    return Err(FileSinkError::Disk(reason));
                }
            }
        }
    }

    fn committed(&self) -> Result<Committed, FileSinkError> {
        let path = self.dir.join(CHECKPOINTS);
        let text = match plain_file::read(&path, CHECKPOINTS_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Committed::default());
            }
            Err(error) => return Err(disk("read", &path)(error)),
        };
        serde_json::from_slice(&text).map_err(|error| {
            let path = path.display();
            FileSinkError::Refused(format!(
                "`{path}`: {error}; hint: it is never written in part, restore it"
            ))
        })
    }

    /// The commit: the file is there as a whole, or the one before it.
    fn commit(&self, committed: &Committed) -> Result<(), FileSinkError> {
        let path = self.dir.join(CHECKPOINTS);
        let new = self.dir.join("checkpoints.json.new");
        let text = serde_json::to_vec(committed).expect("texts and numbers are JSON");
        let mut file = plain_file::create(&new).map_err(disk("create", &new))?;
        file.write_all(&text).map_err(disk("write", &new))?;
        file.sync_all().map_err(disk("sync", &new))?;
        fs::rename(&new, &path).map_err(disk("replace", &path))?;
        self.sync_dir()
    }

    fn sync_dir(&self) -> Result<(), FileSinkError> {
        let dir = File::open(&self.dir).map_err(disk("open", &self.dir))?;
        dir.sync_all().map_err(disk("sync", &self.dir))
    }

    /// Appends `text` to what was committed of a file, and returns its length.
    fn append(
        &self,
        name: &str,
        committed: u64,
        header: &[u8],
        text: &[u8],
    ) -> Result<u64, FileSinkError> {
        let path = self.dir.join(name);
        let mut options = OpenOptions::new();
        options.create(true).append(true).read(true);
        let file = plain_file::open_with(&path, &options, 0);
        let mut file = file.map_err(disk("open", &path))?;
        let length = file.metadata().map_err(disk("look at", &path))?.len();
        if length != 0 && length < committed {
            return Err(FileSinkError::Refused(format!(
                "`{}` has {length} bytes and {committed} were delivered; hint: move it away",
                path.display()
            )));
        }
        // A file that was moved away begins anew.
        let keep = if length == 0 { 0 } else { committed };
        file.set_len(keep).map_err(disk("cut", &path))?;
        if keep == 0 {
            file.write_all(header).map_err(disk("write", &path))?;
        } else {
            self.check_header(&path, &mut file, header)?;
        }
        file.write_all(text).map_err(disk("write", &path))?;
        file.sync_data().map_err(disk("sync", &path))?;
        if keep == 0 {
            self.sync_dir()?;
        }
        Ok(keep + (if keep == 0 { header.len() } else { 0 } + text.len()) as u64)
    }

    fn check_header(
        &self,
        path: &Path,
        file: &mut File,
        header: &[u8],
    ) -> Result<(), FileSinkError> {
        if header.is_empty() {
            return Ok(());
        }
        file.seek(SeekFrom::Start(0)).map_err(disk("read", path))?;
        let mut first = Vec::new();
        let limit = header.len() as u64 + 4096;
        let mut reader = BufReader::new(file).take(limit);
        reader.read_until(b'\n', &mut first).map_err(disk("read", path))?;
        if first == header {
            return Ok(());
        }
        let shown = |line: &[u8]| String::from_utf8_lossy(line).trim_end().to_owned();
        Err(FileSinkError::Refused(format!(
            "`{}` has the columns `{}`, and rows have `{}`; hint: move it away",
            path.display(),
            shown(&first),
            shown(header)
        )))
    }
}

/// Why a piece of work was not done.
enum FileSinkError {
    Final(SinkError),
    Refused(String),
    Disk(String),
}

fn disk(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileSinkError {
    move |error| FileSinkError::Disk(format!("{operation} `{}`: {error}", path.display()))
}

impl Sink for FileSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        self.alone(|committed| {
            for table in tables {
                let path = self.dir.join(self.file(table));
                let is_begun = committed.files.contains_key(&self.file(table));
                if let (true, Ok(mut file)) = (is_begun, plain_file::open(&path)) {
                    self.check_header(&path, &mut file, &self.format.header(table))?;
                }
            }
            Ok(())
        })
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.alone(|committed| {
            let of_source =
                committed.checkpoints.drain(..).filter(|stored| stored.source == source);
            let checkpoints =
                of_source.map(|CheckpointEntry { node, source, sequence, position }| Checkpoint {
                    node,
                    source,
                    sequence,
                    position,
                });
            Ok(checkpoints.collect())
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.alone(|committed| {
            move_checkpoint(committed, &batch.checkpoint)?;
            for rows in batch.rows.iter().filter(|rows| !rows.is_empty()) {
                let name = self.file(&rows.table);
                let length = committed.files.get(&name).copied().unwrap_or(0);
                let header = self.format.header(&rows.table);
                let length = self.append(&name, length, &header, &self.format.rows(rows))?;
                committed.files.insert(name, length);
            }
            self.commit(committed)
        })
    }
}

fn move_checkpoint(committed: &mut Committed, new: &Checkpoint) -> Result<(), FileSinkError> {
    let Checkpoint { node, source, sequence, position } = new.clone();
    let expected = sequence - 1;
    let is_it = |stored: &&mut CheckpointEntry| stored.node == node && stored.source == source;
    let stored = committed.checkpoints.iter_mut().find(is_it);
    let stored_sequence = stored.as_ref().map_or(0, |stored| stored.sequence);
    if stored_sequence != expected {
        let (source_name, stored) = (source, stored_sequence);
        return Err(FileSinkError::Final(SinkError::Fenced { source_name, stored, expected }));
    }
    let new = CheckpointEntry { node: node.clone(), source: source.clone(), sequence, position };
    match stored {
        Some(stored) => *stored = new,
        None => committed.checkpoints.push(new),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
