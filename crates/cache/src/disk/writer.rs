//! Runs the thread that opens the log, writes the queued changes, and starts again after a failure.
//!
//! It names the tier's two files, `cache.redb` and `lock`. Under another name, an earlier version's
//! log would be lost, and its file would stay.
//! Transactions end at 1 MiB of records. Changes are durable after `flush_interval`, or when the
//! tier stops; a crash loses what came later. The wall clock is noted every 60 s at least.
//! Invariants: a log that has failed is removed before another is opened, because it may still hold
//! responses that were forgotten since. So is one that cannot be opened, of another format, or
//! written over an hour in the future. A log that another process has locked is left alone.
//! The purges of a batch come before its changes. A response is judged again when it is written,
//! so none that is older than a purge is written behind it.
//! While the log is out of use, responses are dropped and counted, and opening is tried again with
//! growing pauses. Panics of the engine count as failures.
//! Operators read of all this in docs/operating/failures.md. Never here: reads (`state`), and which
//! changes wait (`queue`).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use stdx::{Backoff, Chain};

use super::file::LogFile;
use super::log::{LogError, Record, RecordChange, RecordLog};
use super::queue::Work;
use super::record;
use super::record::DiskContent;
use super::state::{DiskState, Opened};
use crate::purge::PurgeVerdict;
use crate::tags::Tags;

/// Longest time without a write of the wall clock, even if nothing else changes.
const CLOCK_NOTED: Duration = Duration::from_secs(60);
/// Bytes of records at which a transaction ends.
const TRANSACTION_BYTES: usize = 1 << 20;
/// Share of the given bytes that records may fill. The engine needs the rest for its transactions.
pub(super) const FILL: f64 = 0.85;
/// Microseconds: if the wall clock goes back by more, it was wrong before, and so is every age.
const LAG_HOPELESS: u64 = 3_600_000_000;

/// The reason why the log is out of use.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    #[error("another process uses the directory `{}`", .0.display())]
    Locked(PathBuf),
    #[error("use the directory `{}`", .0.display())]
    Disk(PathBuf, #[source] io::Error),
    #[error("use the file `{}`", .0.display())]
    RecordLog(PathBuf, #[source] LogError),
    #[error("use the file `{}`: the engine panicked", .0.display())]
    Panicked(PathBuf),
    #[error("read from the file `{}`", .0.display())]
    Read(PathBuf),
    #[error("write changes: more keys changed at once than the queue can hold")]
    Behind,
    #[error("compute ages: the wall clock went back by more than an hour")]
    Clock,
}

/// Runs until the queue is stopped. It sends on `ready` once it has tried to open the log.
pub(super) fn run(state: &DiskState, ready: &Sender<()>) {
    let times = state.plan.times;
    let (first, longest) = (times.retry_interval_min, times.retry_interval_max);
    let mut backoff = Backoff::new(first, longest, std::process::id().into());
    loop {
        let outcome = open(state).and_then(|opened| {
            backoff.reset();
            state.take_into_use(opened);
            // If this took too long, nobody waits any more.
            let _ = ready.send(());
            let outcome = write_all(state);
            if outcome.is_err() {
                // If this fails, the next `open` tries again.
                let _ = state.remove();
            }
            state.take_out_of_use();
            outcome
        });
        let Err(error) = outcome else { return };
        state.failed(&error);
        let _ = ready.send(());
        if state.queue.pause(backoff.delay()) {
            return;
        }
    }
}

impl DiskState {
    fn path(&self) -> PathBuf {
        self.plan.dir.join("cache.redb")
    }

    fn take_into_use(&self, opened: Opened) {
        *self.reason.lock() = None;
        self.metrics.up.set(1);
        self.measure(&opened.log);
        *self.opened.write() = Some(Arc::new(opened));
    }

    fn take_out_of_use(&self) {
        self.metrics.up.set(0);
        let opened = self.opened.write().take();
        // A read under way keeps it open a moment longer. A panic while closing is in the log.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(opened)));
    }

    fn failed(&self, error: &DiskError) {
        let text = Chain(error).to_string();
        self.metrics.errors.add(1);
        let before = self.reason.lock().replace(text.clone());
        if before.as_ref() != Some(&text) {
            tracing::error!(reason = %text, "the cache on disk is out of use; trying again later");
        }
    }

    fn measure(&self, log: &RecordLog) {
        self.metrics.bytes.set(i64::try_from(log.used()).unwrap_or(i64::MAX));
        self.metrics.entries.set(i64::try_from(log.entries()).unwrap_or(i64::MAX));
    }

    /// Removes the file of the log, and clears the state that belongs to it.
    fn remove(&self) -> Result<(), DiskError> {
        match self.disk.remove(&self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(DiskError::Disk(self.plan.dir.clone(), error))
            }
            _ => {
                // Without this, a power cut could bring the file back.
                let synced = self.disk.sync_dir(&self.plan.dir);
                synced.map_err(|error| DiskError::Disk(self.plan.dir.clone(), error))?;
                // Nothing is left that these purges cover.
                self.progress.set_made(self.queue.clear());
                self.progress.set_durable();
                self.latest_us.store(0, Ordering::Relaxed);
                self.broken.store(false, Ordering::Relaxed);
                Ok(())
            }
        }
    }
}

fn open(state: &DiskState) -> Result<Opened, DiskError> {
    let dir = &state.plan.dir;
    let failed = |error| DiskError::Disk(dir.clone(), error);
    state.disk.create_dir_all(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => failed(io::ErrorKind::NotADirectory.into()),
        _ => failed(error),
    })?;
    let lock = state.disk.lock(&dir.join("lock")).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => DiskError::Locked(dir.clone()),
        _ => failed(error),
    })?;
    if state.broken.load(Ordering::Relaxed) || state.queue.lost_count() {
        state.remove()?;
    }
    let log = match open_store(state) {
        Ok(log) => log,
        Err(error) => {
            tracing::warn!(reason = %Chain(&error), "the cache on disk is emptied");
            state.remove()?;
            open_store(state)?
        }
    };
    Ok(Opened { log, _lock: lock })
}

/// Opens the log. It begins an empty one if the clock of the old one is wrong.
fn open_store(state: &DiskState) -> Result<RecordLog, DiskError> {
    let path = state.path();
    let file = state.disk.open_write(&path);
    let failed = |error| DiskError::Disk(state.plan.dir.clone(), error);
    let file = file.map_err(failed)?;
    state.disk.sync_dir(&state.plan.dir).map_err(failed)?;
    let bytes = (state.plan.bytes as f64 * FILL) as u64;
    let log = guarded(state, || RecordLog::open(LogFile(file), bytes))?;
    let clock = guarded(state, || log.clock())?;
    let wall = state.clock.unix_micros();
    if wall + LAG_HOPELESS < clock {
        drop(log);
        state.remove()?;
        return open_store(state);
    }
    state.latest_us.fetch_max(clock.max(wall), Ordering::Relaxed);
    make_durable(state, &log)?;
    Ok(log)
}

/// Writes until the queue is stopped.
fn write_all(state: &DiskState) -> Result<(), DiskError> {
    let flush_interval = state.plan.times.flush_interval;
    let mut durable_at = Instant::now();
    let mut noted_at = Instant::now();
    let mut is_dirty = false;
    loop {
        let work = state.queue.take(durable_at + flush_interval, state.progress.durable());
        let opened = state.opened.read().clone();
        let log = &opened.as_ref().expect("only this thread takes it out of use").log;
        is_dirty |= !work.changes.is_empty() || !work.purges.is_empty();
        is_dirty |= work.stopping || work.is_awaited || noted_at.elapsed() >= CLOCK_NOTED;
        let is_due = work.stopping || work.is_awaited || durable_at.elapsed() >= flush_interval;
        let written = write(state, log, &work).and_then(|()| match is_dirty && is_due {
            true => make_durable(state, log),
            false => Ok(()),
        });
        if let Err(error) = written {
            state.broken.store(true, Ordering::Relaxed);
            return Err(error);
        }
        if is_due {
            durable_at = Instant::now();
            if std::mem::take(&mut is_dirty) {
                noted_at = durable_at;
            }
        }
        state.queue.written();
        state.measure(log);
        if work.stopping {
            return Ok(());
        }
    }
}

fn make_durable(state: &DiskState, log: &RecordLog) -> Result<(), DiskError> {
    let wall = state.clock.unix_micros();
    let latest = state.latest_us.fetch_max(wall, Ordering::Relaxed).max(wall);
    if wall + LAG_HOPELESS < latest {
        return Err(DiskError::Clock);
    }
    guarded(state, || log.write(&[], latest, true))?;
    state.progress.set_durable();
    Ok(())
}

fn write(state: &DiskState, log: &RecordLog, work: &Work) -> Result<(), DiskError> {
    if state.broken.load(Ordering::Relaxed) {
        return Err(DiskError::Read(state.path()));
    }
    if work.lost_count {
        return Err(DiskError::Behind);
    }
    // The purges first: every change that waits with them is judged again when it is written.
    if !work.purges.is_empty() {
        guarded(state, || log.purge(&work.purges))?;
    }
    let clock = state.latest_us.load(Ordering::Relaxed);
    let mut some = Vec::new();
    let mut bytes = 0;
    for (key, content) in work.changes.iter() {
        let record = content.as_ref().and_then(|content| recorded(state, key, content));
        if let Some(record) = &record {
            bytes += record.bytes.len();
            state.metrics.written.add(1);
            state.metrics.written_bytes.add(record.bytes.len() as u64);
        }
        some.push(RecordChange { key: key.clone(), record });
        if bytes >= TRANSACTION_BYTES {
            guarded(state, || log.write(&some, clock, false))?;
            some.clear();
            bytes = 0;
        }
    }
    if !some.is_empty() {
        guarded(state, || log.write(&some, clock, false))?;
    }
    state.progress.set_made(work.last_purge);
    Ok(())
}

/// Returns the record of a key's content; `None` if a purge since covers it. A soft one counts as
/// well: writing it as stale is not worth a record.
fn recorded(state: &DiskState, key: &[u8], content: &DiskContent) -> Option<Record> {
    let tags = match content {
        DiskContent::Varies(_) => Tags::default(),
        DiskContent::Entry(kept) => {
            let entry = &kept.entry;
            let verdict = state.purges.verdict(entry.stamp, key, &entry.tags);
            if verdict != PurgeVerdict::Good {
                return None;
            }
            entry.tags.clone()
        }
    };
    Some(Record { bytes: record::encode(key, content), tags })
}

/// Runs a job of the engine, which may fail, or panic if the file is damaged.
fn guarded<T>(
    state: &DiskState,
    job: impl FnOnce() -> Result<T, LogError>,
) -> Result<T, DiskError> {
    match catch_unwind(AssertUnwindSafe(job)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(DiskError::RecordLog(state.path(), error)),
        Err(_) => Err(DiskError::Panicked(state.path())),
    }
}

#[cfg(test)]
mod tests;
