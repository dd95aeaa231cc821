//! Keeps what was lost of the logs until an operator has taken note of it.
//!
//! The file has a line of JSON for each loss, and one for each acknowledgement, which names the
//! loss by its id. Both the edge process and `tidegate events losses` read it. So an alarm
//! outlives a restart, and needs no process to be ended. Several processes append to one file.
//! Invariant: only an acknowledgement ends a loss. What the file does not take, or does not have
//! any more, stays in memory and is written as soon as it can be (`keep`). While there is such a
//! loss, or the file could take none, `OpenLosses::problem` says so: nobody takes it for whole.
//! The edge process takes over what the record process could not write, in case that dies.
//! A line that is neither a loss nor an acknowledgement is counted. A loss that is found again, as
//! after a restart, is noted once. It is known by its source, its sink and its words, as long as
//! the batch behind it is not committed. The same words after that are another loss.
//! Bounds: 1 MiB of the file, and 1,000 losses in memory; further ones are only in the log of the
//! process and in its counts. What is longer than that and its acknowledgements, or no regular
//! file, is a problem and not read. Never here: finding losses (`source`), and counting them
//! (`status`).

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::{Change, Displaced};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use stdx::plain_file;

/// Bytes of the file from which on no loss is noted in it.
const BYTES_MAX: u64 = 1 << 20;
/// What is read of it at most: beyond the bound, each loss there can still be acknowledged.
const READ_BYTES_MAX: u64 = 2 * BYTES_MAX;
/// Losses in memory at most.
const KNOWN_MAX: usize = 1000;

/// Something that was lost of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLoss {
    /// Its name for people.
    pub id: String,
    /// When it was found, microseconds since the Unix epoch.
    pub time_us: u64,
    /// The machine that read.
    pub node: String,
    /// The source.
    pub source: String,
    /// The sink.
    pub sink: String,
    /// What was found, in words, with offsets.
    pub what: String,
    /// Bytes that are lost; null where that is not known.
    pub bytes: Option<u64>,
    /// The number of the batch before it; none in files of older versions.
    #[serde(default)]
    pub batch: Option<u64>,
}

impl LogLoss {
    /// Whether this is `found`, met by a pipeline that went on after batch `resumed`.
    fn is_again(&self, found: &Self, resumed: u64) -> bool {
        let Self { node, source, sink, what, .. } = self;
        let place = [node, source, sink, what];
        place == [&found.node, &found.source, &found.sink, &found.what]
            && self.batch.is_none_or(|batch| batch >= resumed)
    }
}

#[derive(Serialize, Deserialize)]
struct Acknowledgement {
    acknowledged: String,
    time_us: u64,
}

/// The losses that are not acknowledged.
#[derive(Debug, Default)]
pub struct OpenLosses {
    /// In the order in which they were found.
    pub losses: Vec<LogLoss>,
    /// Lines of the file that are no losses: something may have been lost that is not known any
    /// more.
    pub broken_lines: usize,
    /// Whether there is a file, which the first loss makes.
    pub has_file: bool,
    /// Why the file cannot be read, or takes no losses: there may be others than these.
    pub problem: Option<String>,
}

impl OpenLosses {
    /// Whether there is no other open loss than these.
    pub fn is_whole(&self) -> bool {
        self.broken_lines == 0 && self.problem.is_none()
    }
}

/// A file of losses.
#[derive(Debug)]
pub struct LossBook {
    path: PathBuf,
    /// Losses of which this process knows that they are open, in the file or not. Locked while a
    /// loss is looked for and noted.
    known: Mutex<Vec<LogLoss>>,
}

/// What the file holds.
#[derive(Default)]
struct BookFile {
    losses: Vec<LogLoss>,
    acknowledged: HashSet<String>,
    broken_lines: usize,
    bytes: u64,
}

/// What one run of a pipeline notes.
pub(crate) struct LossNotes {
    pub book: Arc<LossBook>,
    /// Batches that were committed when the run began.
    pub resumed: u64,
}

impl LossNotes {
    /// Notes a loss, unless it is noted already; returns whether it is in the file.
    pub(crate) fn note(&self, loss: LogLoss) -> bool {
        self.book.note(loss, self.resumed)
    }
}

impl LossBook {
    /// Keeps losses in the file `path`, which is made with the first one.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), known: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the losses that are not acknowledged.
    pub fn open(&self) -> OpenLosses {
        let mut known = self.known.lock();
        let file = match self.read() {
            Ok(file) => file,
            Err(error) => {
                let problem = Some(format!("it cannot be read: {error}"));
                return OpenLosses { losses: known.clone(), problem, ..OpenLosses::default() };
            }
        };
        let has_file = file.is_some();
        let file = file.unwrap_or_default();
        let kept = self.keep_missing(&mut known, &file);
        let missing: Vec<_> = known.iter().filter(|loss| !file.has(loss)).cloned().collect();
        let lacks = if kept.is_err() { missing.len() } else { 0 };
        let room = if file.bytes < BYTES_MAX { Ok(()) } else { Err(full()) };
        let takes = kept.and(room).and_then(|()| plain_file::expect_appendable(&self.path));
        let problem = takes.err().map(|error| match lacks {
            0 => format!("it takes no losses: {error}"),
            _ => format!("it takes no losses, and lacks {lacks} of these: {error}"),
        });
        let mut losses: Vec<LogLoss> = file.open().cloned().chain(missing).collect();
        let mut seen = HashSet::new();
        losses.retain(|loss| seen.insert(loss.id.clone()));
        OpenLosses { losses, broken_lines: file.broken_lines, has_file, problem }
    }

    /// Returns the open losses that this process knows and the file still lacks, after another try
    /// to write them. Reads nothing while this process knows of none.
    pub(crate) fn keep(&self) -> Vec<LogLoss> {
        let mut known = self.known.lock();
        if known.is_empty() {
            return Vec::new();
        }
        let Ok(file) = self.read() else { return known.clone() };
        let file = file.unwrap_or_default();
        match self.keep_missing(&mut known, &file) {
            Ok(()) => Vec::new(),
            Err(_) => known.iter().filter(|loss| !file.has(loss)).cloned().collect(),
        }
    }

    /// Takes over what another process could not write.
    pub fn adopt(&self, losses: Vec<LogLoss>) {
        let mut known = self.known.lock();
        for loss in losses {
            add(&mut known, loss);
        }
    }

    /// Acknowledges losses by their ids, or all; returns those that were open.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn acknowledge(&self, ids: Option<&[String]>) -> io::Result<Vec<LogLoss>> {
        self.read()?;
        let mut losses = self.open().losses;
        losses.retain(|loss| ids.is_none_or(|ids| ids.contains(&loss.id)));
        let time_us = stdx::unix_micros();
        for loss in &losses {
            let acknowledged = loss.id.clone();
            self.append(&serde_json::to_vec(&Acknowledgement { acknowledged, time_us })?)?;
        }
        Ok(losses)
    }

    /// Notes a loss, unless it is noted already; returns whether it is in the file. The pipeline
    /// that found it went on after batch `resumed`.
    fn note(&self, mut loss: LogLoss, resumed: u64) -> bool {
        let mut known = self.known.lock();
        let read = self.read();
        let file = read.as_ref().ok().and_then(Option::as_ref);
        let noted = file.map_or(&[][..], |file| &file.losses).iter();
        if noted.clone().any(|noted| noted.is_again(&loss, resumed)) {
            return true;
        }
        if !known.iter().any(|known| known.is_again(&loss, resumed)) {
            loss.id = format!("{:08x}", loss.time_us as u32);
            add(&mut known, loss);
        }
        read.and_then(|file| self.keep_missing(&mut known, &file.unwrap_or_default())).is_ok()
    }

    /// Takes up what the file holds, and writes what it lacks.
    fn keep_missing(&self, known: &mut Vec<LogLoss>, file: &BookFile) -> io::Result<()> {
        known.retain(|loss| !file.acknowledged.contains(&loss.id));
        for loss in known.iter().filter(|loss| !file.has(loss)) {
            if file.bytes >= BYTES_MAX {
                return Err(full());
            }
            self.append(&serde_json::to_vec(loss)?)?;
        }
        file.open().for_each(|loss| add(known, loss.clone()));
        Ok(())
    }

    /// Reads the file; none where it is missing.
    fn read(&self) -> io::Result<Option<BookFile>> {
        let bytes = match plain_file::read(&self.path, READ_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let mut file = BookFile { bytes: bytes.len() as u64, ..BookFile::default() };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(loss) = serde_json::from_slice::<LogLoss>(line) {
                file.losses.push(loss);
            } else if let Ok(one) = serde_json::from_slice::<Acknowledgement>(line) {
                file.acknowledged.insert(one.acknowledged);
            } else {
                file.broken_lines += 1;
            }
        }
        Ok(Some(file))
    }

    fn append(&self, line: &[u8]) -> io::Result<()> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let mut file = plain_file::append(&self.path)?;
        // A kill may have torn the last line.
        file.write_all(&[b"\n", line, b"\n"].concat())?;
        file.sync_all()
    }
}

impl BookFile {
    fn has(&self, loss: &LogLoss) -> bool {
        self.losses.iter().any(|noted| noted.id == loss.id)
    }

    fn open(&self) -> impl Iterator<Item = &LogLoss> {
        self.losses.iter().filter(|loss| !self.acknowledged.contains(&loss.id))
    }
}

/// Adds a loss that is not known yet.
fn add(known: &mut Vec<LogLoss>, loss: LogLoss) {
    if known.len() < KNOWN_MAX && !known.iter().any(|known| known.id == loss.id) {
        known.push(loss);
    }
}

fn full() -> io::Error {
    let what = "it has 1 MB: acknowledge its losses, then move it away";
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

/// Says what became of a log, and how many bytes of it are lost unread, if that is known.
pub(crate) fn displacement(file: &str, displaced: Displaced) -> (String, Option<u64>) {
    let Displaced { read_to, goes_on, lost_to, change } = displaced;
    let what = match change {
        Change::Damaged => format!(
            "`{file}` is damaged at {read_to}, up to where it was read; reading goes on at \
             {goes_on}, behind the rest of a line"
        ),
        Change::Shorter => format!(
            "`{file}` came back shorter than it was read: from {read_to} to {goes_on}, where \
             reading goes on; what was read stays counted"
        ),
        Change::Replaced => format!(
            "`{file}` is not the log that was read to {read_to}: another server with the same \
             `node` delivers another log (give each its own `node`), or this one was removed, or \
             replaced by an older copy. What a log that is gone had from {read_to} on is lost; \
             what stands in another server's is not (`tidegate events verify` compares). Reading \
             goes on at {goes_on}, with what was written since"
        ),
        Change::Unwitnessed => format!(
            "lines of `{file}` behind {read_to} may be lost: what says how far it was written is \
             missing, damaged, or of another journal"
        ),
    };
    (what, lost_to.map(|lost_to| lost_to.saturating_sub(read_to)))
}

#[cfg(test)]
mod tests;
