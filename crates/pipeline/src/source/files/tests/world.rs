//! A directory with logs, and a reader that keeps what it gets.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stdx::{Disk, ManualClock, RealDisk};
use tempfile::TempDir;

use super::super::*;

pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// A directory with logs.
pub(super) struct World {
    pub clock: ManualClock,
    pub options: FileOptions,
    pub disk: Arc<dyn Disk>,
    dir: TempDir,
}

/// A reader, and what other nodes have committed.
pub(super) struct Tail {
    pub source: FileSource,
    pub others: Vec<NodePosition>,
    clock: ManualClock,
}

/// What a reader was told.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub ids: Vec<String>,
    pub lost: Vec<(u64, u64)>,
    pub receded: Vec<(u64, u64)>,
    pub changed: Vec<(u64, u64)>,
    pub torn: Vec<Vec<u8>>,
    pub oversized: Vec<(u64, u64)>,
    pub unreadable: Vec<String>,
    /// How often long work was interrupted.
    pub unfinished: usize,
}

pub(super) fn line(id: &str) -> String {
    format!("id={id} GET /items/of/some/length?with=a&query=string 200 0.001\n")
}

pub(super) fn lines(ids: &str) -> String {
    ids.split(' ').map(line).collect()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

/// What a reader has committed, as another node's.
pub(super) fn of_node(node: &str, tail: &Tail) -> NodePosition {
    NodePosition { node: node.to_owned(), position: tail.position() }
}

impl World {
    pub(super) fn new(patterns: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let patterns: Vec<_> = patterns.iter().map(|pattern| dir.path().join(pattern)).collect();
        let clock = ManualClock::at(1_700_000_000_000_000);
        Self::with(dir, Arc::new(RealDisk), clock, &patterns)
    }

    /// Logs on another disk.
    pub(super) fn on(disk: Arc<dyn Disk>, clock: ManualClock, patterns: &[&str]) -> Self {
        let patterns: Vec<_> = patterns.iter().map(PathBuf::from).collect();
        Self::with(TempDir::new().unwrap(), disk, clock, &patterns)
    }

    fn with(dir: TempDir, disk: Arc<dyn Disk>, clock: ManualClock, patterns: &[PathBuf]) -> Self {
        let files = patterns.iter().map(|pattern| FilePattern::new(pattern).unwrap()).collect();
        let (strict, sync, idle_timeout) = (false, false, IDLE_TIMEOUT);
        let moved_from = Vec::new();
        let options = FileOptions { files, strict, sync, idle_timeout, moved_from, time_of: None };
        Self { clock, options, disk, dir }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn append(&self, name: &str) -> File {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        OpenOptions::new().create(true).append(true).open(path).unwrap()
    }

    /// Appends a line for each id; ids of later calls are newer for the file system too.
    pub(super) fn write(&self, name: &str, ids: &str) {
        self.partial(name, lines(ids).as_bytes());
        let age = ids.bytes().next().unwrap_or(0);
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + u64::from(age));
        self.append(name).set_modified(time + Duration::from_nanos(self.len(name))).unwrap();
    }

    pub(super) fn partial(&self, name: &str, bytes: &[u8]) {
        self.append(name).write_all(bytes).unwrap();
    }

    pub(super) fn len(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }

    pub(super) fn truncate(&self, name: &str, length: u64) {
        self.append(name).set_len(length).unwrap();
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    pub(super) fn rename_away(&self, name: &str) {
        fs::create_dir_all(self.path("archive")).unwrap();
        self.rename(name, "archive/gone");
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    pub(super) fn tail(&self) -> Tail {
        self.tail_from(None)
    }

    /// As after a crash just after the reader's position was committed.
    pub(super) fn resume(&self, tail: &Tail) -> Tail {
        self.tail_from(Some(&tail.position()))
    }

    pub(super) fn tail_from(&self, position: Option<&str>) -> Tail {
        let (disk, clock) = (Arc::clone(&self.disk), Arc::new(self.clock.clone()));
        let mut source = FileSource::new("test", self.options.clone(), disk, clock);
        source.others(&[]);
        source.resume(position).unwrap();
        Tail { source, others: Vec::new(), clock: self.clock.clone() }
    }
}

impl Tail {
    pub(super) fn position(&self) -> String {
        self.source.position()
    }

    /// How many logs the position speaks of.
    pub(super) fn known(&self) -> usize {
        let value: serde_json::Value = serde_json::from_str(&self.position()).unwrap();
        let count = |key: &str| value[key].as_array().unwrap().len();
        count("logs") + count("done")
    }

    /// The files that cannot be read at present.
    pub(super) fn unreadable(&self) -> Vec<String> {
        self.source.notices().unreadable.into_keys().collect()
    }

    /// The names of files that count as copies, each with its original's.
    pub(super) fn copies(&self) -> Vec<(String, String)> {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let copies = self.source.notices().copies;
        copies.iter().map(|(file, of)| (name(file), name(of))).collect()
    }

    /// Looks at the directories again, and reads until there is nothing more.
    pub(super) fn drain(&mut self) -> Seen {
        self.try_drain().unwrap_or_else(|failed| panic!("{} after {:?}", failed.1, failed.0))
    }

    /// Has the reader look how long its files are, as each delivery does.
    pub(super) fn source_sees_lengths(&mut self) {
        self.source.bytes_behind();
    }

    pub(super) fn fails(&mut self) -> String {
        stdx::Chain(&self.try_drain().unwrap_err().1).to_string()
    }

    pub(super) fn drain_in_spite_of_errors(&mut self) -> Seen {
        let mut all = Seen::default();
        loop {
            match self.try_drain() {
                Ok(seen) => {
                    all.ids.extend(seen.ids);
                    return all;
                }
                Err(failed) => all.ids.extend(failed.0.ids),
            }
        }
    }

    /// With an error comes what was seen before it.
    fn try_drain(&mut self) -> Result<Seen, Box<(Seen, SourceError)>> {
        self.clock.advance(Duration::from_secs(10));
        let (mut seen, mut buffer) = (Seen::default(), Vec::new());
        loop {
            let step = match self.source.read(&mut buffer) {
                Ok(step) => step,
                Err(error) => return Err(Box::new((seen, error))),
            };
            if matches!(step, ReadOutcome::Unfamiliar) {
                self.source.others(&self.others);
                continue;
            }
            if matches!(step, ReadOutcome::CaughtUp) {
                return Ok(seen);
            }
            seen.note(&step);
        }
    }
}

impl Seen {
    fn note(&mut self, step: &ReadOutcome<'_>) {
        match step {
            ReadOutcome::Lines(piece) => {
                for line in piece.bytes.split_inclusive(|byte| *byte == b'\n') {
                    let text = std::str::from_utf8(line).unwrap();
                    let id = text.strip_prefix("id=").and_then(|text| text.split(' ').next());
                    let id = id.unwrap_or_else(|| panic!("{text:?}"));
                    assert_eq!(text, super::world::line(id));
                    self.ids.push(id.to_owned());
                }
            }
            ReadOutcome::Torn(piece) => self.torn.push(piece.bytes.to_vec()),
            ReadOutcome::Oversized { beginning, length } => {
                self.oversized.push((beginning.start, *length));
            }
            ReadOutcome::Lost { from, to, .. } => self.lost.push((*from, *to)),
            ReadOutcome::Receded { from, to, .. } => self.receded.push((*from, *to)),
            ReadOutcome::Changed { from, to, .. } => self.changed.push((*from, *to)),
            ReadOutcome::Displaced { .. } => panic!("only a journal is displaced"),
            ReadOutcome::Unreadable { file, .. } => self.unreadable.push((*file).to_owned()),
            ReadOutcome::Unfinished => self.unfinished += 1,
            ReadOutcome::Unfamiliar | ReadOutcome::CaughtUp => {}
        }
    }

    pub(super) fn sorted(&self) -> Vec<&str> {
        let mut ids: Vec<_> = self.ids.iter().map(String::as_str).collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn is_empty(&self) -> bool {
        let changes = self.receded.len() + self.changed.len();
        let lists = [self.lost.len(), changes, self.torn.len(), self.oversized.len()];
        self.ids.is_empty() && lists == [0; 4] && self.unreadable.is_empty()
    }
}
