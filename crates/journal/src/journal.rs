//! The journal as its owner holds it: opens it, hands out lanes, tells its state, closes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stdx::Disk;

use crate::error::JournalError;
use crate::lane::{Buffer, Lane};
use crate::limit::Limit;
use crate::open::recover;
use crate::options::Options;
use crate::state::Shared;
use crate::writer::Writer;
use crate::{durable, retention, sealer};

/// A durable log of lines, written by this process alone.
///
/// Dropping it writes and syncs what the lanes hold; lines that come later are not taken.
pub struct Journal {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    syncer: Option<JoinHandle<()>>,
    sealer: Option<JoinHandle<()>>,
    _lock: Box<dyn Send + Sync>,
}

/// Counters since the journal was opened, and its present size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The offset of the end of the last line written.
    pub offset: u64,
    /// The offset up to which lines are durable.
    pub synced: u64,
    /// How long the oldest line that is not durable has been waiting.
    pub unsynced_age: Duration,
    /// Lines taken from the lanes.
    pub lines: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Lines that were not recorded.
    pub unrecorded: u64,
    /// Syncs that failed.
    pub sync_failures: u64,
    /// Bytes of a torn line that were cut off when the journal was opened.
    pub repaired_bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of the segment files as on disk.
    pub disk_bytes: u64,
}

/// Whether all is well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Lines can be written at present.
    pub recording: bool,
    /// What an operator must know; nothing when all is well.
    pub alarm: Option<String>,
}

impl Journal {
    /// Opens the journal, repairing what a crash left, and starts its threads.
    ///
    /// # Errors
    /// `Locked` when another process writes it; `Disk` when it cannot be read or repaired.
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let dir = options.dir.clone();
        disk.create_dir_all(&dir).map_err(JournalError::disk("create", &dir))?;
        let lock = disk.lock(&dir.join("lock")).map_err(|error| match error.kind() {
            std::io::ErrorKind::WouldBlock => JournalError::Locked { dir: dir.clone() },
            _ => JournalError::disk("lock", &dir)(error),
        })?;
        let recovered = recover(&*disk, &dir)?;
        let limit = Limit::open(&*disk, &dir).and_then(|limit| {
            limit.set(recovered.end)?;
            Ok(limit)
        });
        let limit = limit.map_err(JournalError::disk("set the limit of", &dir))?;
        let shared = Arc::new(Shared::new(options, disk, recovered.end));
        shared.counters.repaired_bytes.store(recovered.dropped_bytes, Ordering::Relaxed);
        let writer = Writer::new(shared.clone(), recovered.end);
        let (syncing, sealing) = (shared.clone(), shared.clone());
        let started = |result: std::io::Result<JoinHandle<()>>| {
            result.map_err(JournalError::disk("start threads for", &dir)).map(Some)
        };
        let mut journal = Self { shared, writer: None, syncer: None, sealer: None, _lock: lock };
        journal.syncer = started(spawn("journal-sync", move || durable::run(&syncing, &limit)))?;
        journal.sealer = started(spawn("journal-seal", move || sealer::run(&sealing)))?;
        journal.writer = started(spawn("journal-write", move || writer.run()))?;
        Ok(journal)
    }

    /// Returns a new lane; each I/O core takes one of its own.
    pub fn lane(&self) -> Lane {
        let buffer = Arc::new(Buffer::default());
        self.shared.lanes.lock().push(buffer.clone());
        Lane { buffer, shared: self.shared.clone() }
    }

    /// Returns counters and sizes; asks the disk for the latter.
    pub fn stats(&self) -> Stats {
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.shared.counters;
        let sizes = retention::sizes(&self.shared).unwrap_or_default();
        Stats {
            offset: read(&counters.offset),
            synced: self.shared.durable.synced(),
            unsynced_age: self.shared.durable.waiting(),
            lines: read(&counters.lines),
            bytes: read(&counters.bytes),
            unrecorded: read(&counters.unrecorded),
            sync_failures: read(&counters.sync_failures),
            repaired_bytes: read(&counters.repaired_bytes),
            segments: sizes.len() as u64,
            disk_bytes: sizes.iter().map(|(_, size)| size.len).sum(),
        }
    }

    /// Returns whether all is well.
    pub fn health(&self) -> Health {
        let alarms = &self.shared.alarms;
        let raised = [&alarms.write, &alarms.sync, &alarms.upkeep];
        let texts: Vec<_> = raised.iter().filter_map(|alarm| alarm.lock().clone()).collect();
        Health {
            recording: !self.shared.is_failing() && !self.shared.is_closed(),
            alarm: (!texts.is_empty()).then(|| texts.join("; ")),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.close();
        join(&mut self.writer);
        self.shared.durable.close();
        self.shared.bell.close();
        join(&mut self.syncer);
        join(&mut self.sealer);
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take()
        && thread.join().is_err()
    {
        tracing::error!("a thread of the journal panicked");
    }
}
