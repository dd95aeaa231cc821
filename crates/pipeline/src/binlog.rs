//! Writes down for people what was committed and when, one line of JSON for each batch, and reads
//! the last notes back.
//!
//! Invariant: nothing is ever decided by it. The checkpoint in the sink is the only truth. So the
//! file is never synced, and may be deleted, cut or damaged at any time. A note that cannot be
//! written is lost without an error. A note that lacks a field is skipped, so a renamed or new
//! field hides older notes.
//! Several pipelines write one file, also of two processes at once (`events replay`). What `last`
//! gives, `tidegate/src/events/status.rs` prints where no record process answers.
//! Bound: a new file is begun at 1 MiB and one old one is kept, as docs/operating/events.md says.
//! `last` reads the last 64 KiB of both.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use stdx::plain_file;

/// Size at which a new file is begun; one old one is kept.
const BYTES_MAX: u64 = 1 << 20;
/// What is read of the end of a file to find the last notes.
const TAIL_BYTES: u64 = 64 << 10;

/// One committed batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When it was known to be committed, microseconds since the Unix epoch.
    pub time_us: u64,
    /// The machine that read.
    pub node: String,
    /// The source.
    pub source: String,
    /// The sink.
    pub sink: String,
    /// The number of the batch.
    pub sequence: u64,
    /// Its rows.
    pub rows: u64,
    /// Where the source went on after it.
    pub position: String,
}

/// A file of notes that several pipelines write.
#[derive(Debug)]
pub struct Binlog {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl Binlog {
    /// Notes in the file `path`, which is made with the first one.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: Mutex::new(None) }
    }

    /// Appends a note. A disk that does not take it costs the note, and nothing else.
    pub fn note(&self, note: &Note) {
        if let Err(error) = self.append(note) {
            *self.file.lock() = None;
            tracing::debug!(file = %self.path.display(), %error, "a note was not written");
        }
    }

    /// The newest note of each pipeline at the end of the file. Lines that are no notes are
    /// skipped.
    pub fn last(&self) -> Vec<Note> {
        let mut bytes = tail(&old(&self.path)).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend(tail(&self.path).unwrap_or_default());
        let mut last: Vec<Note> = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(note) = serde_json::from_slice::<Note>(line) else { continue };
            last.retain(|old| (&old.source, &old.sink) != (&note.source, &note.sink));
            last.push(note);
        }
        last
    }

    fn append(&self, note: &Note) -> io::Result<()> {
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        let mut open = self.file.lock();
        let file = match open.take().filter(|file| has_name(file, &self.path)) {
            Some(file) => file,
            None => self.open()?,
        };
        if file.metadata()?.len() >= BYTES_MAX {
            fs::rename(&self.path, old(&self.path))?;
            return open.insert(self.open()?).write_all(&line);
        }
        open.insert(file).write_all(&line)
    }

    fn open(&self) -> io::Result<File> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let mut file = plain_file::append(&self.path)?;
        // A kill may have torn the last line.
        file.write_all(b"\n")?;
        Ok(file)
    }
}

/// Whether the file is still the one with this name.
fn has_name(file: &File, path: &Path) -> bool {
    let identity = |found: io::Result<Metadata>| found.ok().map(|it| (it.dev(), it.ino()));
    identity(file.metadata()) == identity(fs::metadata(path))
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("1")
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = plain_file::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
