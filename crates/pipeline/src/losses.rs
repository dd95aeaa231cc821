//! Keeps what was lost of the logs until an operator has taken note of it.
//!
//! The file has a line of JSON for each loss, and one for each acknowledgement, which names the
//! loss by its id. Both the edge process and `tidegate events losses` read it. So an alarm
//! outlives a restart, and needs no process to be ended. Invariant: a loss that is found again, as
//! after a restart, is noted once. It is known by its source, its sink and its words, as long as
//! the batch behind it is not committed. The same words after that are another loss. A line that
//! is neither is counted, so that nobody takes the file for whole. Several processes append to one
//! file. Bound: 1 MiB; further losses are only in the log of the process and in its counts. What is
//! longer than that and its acknowledgements, or no regular file, is an error and not read. Never
//! here: finding losses (`source`), and counting them (`status`).

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
}

/// A file of losses.
#[derive(Debug)]
pub struct LossBook {
    path: PathBuf,
    /// Held while a loss is looked for and noted.
    noting: Mutex<()>,
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
        Self { path: path.to_owned(), noting: Mutex::default() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the losses that are not acknowledged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(&self) -> io::Result<OpenLosses> {
        let Some(bytes) = self.read()? else { return Ok(OpenLosses::default()) };
        let mut open = OpenLosses { has_file: true, ..OpenLosses::default() };
        let mut acknowledged = HashSet::new();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(loss) = serde_json::from_slice::<LogLoss>(line) {
                open.losses.push(loss);
            } else if let Ok(one) = serde_json::from_slice::<Acknowledgement>(line) {
                acknowledged.insert(one.acknowledged);
            } else {
                open.broken_lines += 1;
            }
        }
        let mut seen = HashSet::new();
        let is_open = |it: &LogLoss| !acknowledged.contains(&it.id) && seen.insert(it.id.clone());
        open.losses.retain(is_open);
        Ok(open)
    }

    /// Acknowledges losses by their ids, or all; returns those that were open.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn acknowledge(&self, ids: Option<&[String]>) -> io::Result<Vec<LogLoss>> {
        let mut losses = self.open()?.losses;
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
        let _noting = self.noting.lock();
        let Ok(bytes) = self.read() else { return false };
        let bytes = bytes.unwrap_or_default();
        let mut noted = bytes.split(|byte| *byte == b'\n').filter_map(|line| {
            let noted: LogLoss = serde_json::from_slice(line).ok()?;
            Some(noted)
        });
        if noted.any(|noted| noted.is_again(&loss, resumed)) {
            return true;
        }
        loss.id = format!("{:08x}", loss.time_us as u32);
        let line = serde_json::to_vec(&loss).unwrap_or_default();
        (bytes.len() as u64) < BYTES_MAX && self.append(&line).is_ok()
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match plain_file::read(&self.path, READ_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
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
            "`{file}` is not the log that was read to {read_to}: it was removed, or replaced by an \
             older copy. What stood there from {read_to} on is lost; reading goes on at {goes_on}, \
             with what was written since"
        ),
    };
    (what, lost_to.map(|lost_to| lost_to.saturating_sub(read_to)))
}

#[cfg(test)]
mod tests;
