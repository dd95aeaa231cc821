//! Presents the second tier to the store: keep, forget, find, purge, count, report its status.
//!
//! Invariant: a look-up or a change never makes its I/O core wait for the disk. The start, the end,
//! [`DiskTier::flush_purges`] and [`DiskTier::status`] may. The waits for the writer at start, at
//! the end and for purges are bounded by `DiskTimes`.
//! Bounds: at most [`READS_MAX`] reads wait for a thread, each for at most `read_timeout`;
//! otherwise the look-up finds nothing. After a read that was too slow the disk is not read for 5
//! s.
//! A response is not kept if it sets a cookie. Nor is one without a validator that is of use, fresh
//! or stale, for under 10 s. The pages docs/CACHING.md and docs/operating/cache-on-disk.md say so,
//! too. `keep`, `keep_names` and `forget` count up the mark of a key, so they must be called before
//! memory changes.
//! [`DiskStatus`] becomes `cache.disk` of `/status` in `disk_cache` of
//! `crates/tidegate/src/admin.rs`.
//! Never here: the thread that writes (`writer`), and when a look-up counts as a hit (`store`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chassis::{Group, Length, WorkPool, WorkRefused};
use metrics::Registry;
use parking_lot::Mutex;
use stdx::{Clock, Disk, RealDisk, SystemClock};
use tokio::time::timeout;

use super::log::AreaPurge;
use super::metrics::DiskMetrics;
use super::record::{DiskContent, DiskEntry};
use super::state::{DiskPlan, DiskState};
use super::writer;
use crate::area::Area;
use crate::entry::Entry;
use crate::key::FieldNames;
use crate::purge::Purges;

/// Threads that read.
const READERS: usize = 2;
/// All reads share a turn.
const READS: Group<'static> = Group { name: "reads", length: Length::Short };
/// Reads that may wait for a thread; one more is a miss.
const READS_MAX: usize = 256;
/// Time for which the disk is not read after a read was too slow.
const REST: Duration = Duration::from_secs(5);
/// Remaining life below which a response without a validator is not worth writing.
const LIFE_MIN: Duration = Duration::from_secs(10);

/// The second tier.
pub(crate) struct DiskTier {
    state: Arc<DiskState>,
    readers: WorkPool,
    /// The thread that writes, and a channel that closes when it ends.
    writer: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
}

/// The status of the tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskStatus {
    /// Its directory.
    pub dir: PathBuf,
    /// Records in it.
    pub entries: u64,
    /// Bytes in use.
    pub bytes: u64,
    /// Bytes that it may take.
    pub bytes_max: u64,
    /// Changes that wait to be written.
    pub waiting: usize,
    /// The reason why it is out of use or too slow, if it is.
    pub reason: Option<String>,
}

impl std::fmt::Debug for DiskTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskTier").field("plan", &self.state.plan).finish_non_exhaustive()
    }
}

impl DiskTier {
    /// Starts the tier on the disk and the clock of the operating system; `None` if a thread cannot
    /// be started.
    pub(crate) fn open(plan: DiskPlan, purges: Arc<Purges>, registry: &Registry) -> Option<Self> {
        let started =
            Self::start(plan, Arc::new(RealDisk), Arc::new(SystemClock), purges, registry);
        let warn = |error: &std::io::Error| {
            tracing::error!(reason = %error, "cannot start the cache on disk; using memory alone");
        };
        started.inspect_err(warn).ok()
    }

    /// Starts the tier. It comes into use as soon as its directory can be used.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start(
        plan: DiskPlan,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        purges: Arc<Purges>,
        registry: &Registry,
    ) -> std::io::Result<Self> {
        let times = plan.times;
        let state = Arc::new(DiskState::new(plan, disk, clock, purges, DiskMetrics::new(registry)));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel();
        let writer_state = Arc::clone(&state);
        let writer = std::thread::Builder::new().name("disk".to_owned());
        let writer = writer.spawn(move || {
            let _end = end;
            writer::run(&writer_state, &ready);
        })?;
        // A disk that hangs delays the start by no more than this timeout.
        let _ = is_ready.recv_timeout(times.open_timeout);
        let readers = WorkPool::start(READERS, READS_MAX)?;
        Ok(Self { state, readers, writer: Mutex::new(Some((writer, ended))) })
    }

    /// Queues a response for the disk; call it before the response is stored in memory. It is not
    /// written if its life is too short, or if the disk or the queue is full.
    pub(crate) fn keep(&self, key: &[u8], entry: &Arc<Entry>) {
        let state = &self.state;
        state.mark(key).fetch_add(1, Ordering::AcqRel);
        let now = Instant::now();
        let worth = is_worth(entry, now) && state.admits(key);
        let age = entry.age(now).as_micros() as u64;
        let born_us = state.clock.unix_micros().saturating_sub(age);
        let kept = worth.then(|| DiskEntry {
            entry: Arc::clone(entry),
            born_us,
            has_encodings: entry.encodings.is_some(),
        });
        state.push(key, kept.map(DiskContent::Entry));
    }

    /// Queues the names of the request fields that the response under a key varies by.
    pub(crate) fn keep_names(&self, key: &[u8], names: &FieldNames) {
        self.state.mark(key).fetch_add(1, Ordering::AcqRel);
        self.state.push(key, Some(DiskContent::Varies(Arc::clone(names))));
    }

    /// Forgets the content of exactly this key; call it before memory forgets it.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.state.mark(key).fetch_add(1, Ordering::AcqRel);
        self.state.push(key, None);
    }

    /// Returns the mark of a key. If it is equal before and after a read, nothing has changed.
    pub(crate) fn mark(&self, key: &[u8]) -> u64 {
        self.state.mark(key).load(Ordering::Acquire)
    }

    /// Finds the content of exactly this key.
    pub(crate) async fn find(&self, key: &[u8]) -> Option<DiskContent> {
        if let Some(wanted) = self.state.queue.get(key) {
            return wanted;
        }
        let opened = self.state.opened.read().clone()?;
        if self.state.is_at_rest() {
            self.state.metrics.slow.add(1);
            return None;
        }
        let (state, key) = (Arc::clone(&self.state), Box::<[u8]>::from(key));
        let read = self.readers.run(READS, move || state.read(&opened, &key));
        let metrics = &self.state.metrics;
        match timeout(self.state.plan.times.read_timeout, read).await {
            Ok(Ok(found)) => found,
            Ok(Err(WorkRefused::Full)) => {
                metrics.slow.add(1);
                None
            }
            Err(_) => {
                metrics.slow.add(1);
                // Without this, every miss would wait for a disk that hangs.
                *self.state.rests_until.lock() = Some(Instant::now() + REST);
                None
            }
            Ok(Err(WorkRefused::Broken)) => {
                self.state.engine_failed("the engine panicked");
                None
            }
        }
    }

    /// Queues purges, to be made within a flush; `number` is that of the last one. Until then, what
    /// is read from disk is judged by the record of purges.
    pub(crate) fn purged(&self, areas: &[Area], soft: bool, number: u64) {
        let now = self.state.clock.unix_micros().max(1);
        let stale_us = soft.then_some(now);
        let purges = areas.iter().map(|area| AreaPurge { area: area.clone(), stale_us });
        self.state.queue.push_purges(purges, number);
    }

    /// Waits until the queued purges survive a power cut. Returns false if that takes too long, or
    /// the log is out of use. Then they hold as long as this process runs, and are written later.
    pub(crate) fn flush_purges(&self) -> bool {
        let state = &self.state;
        let number = state.queue.hurry_purges();
        let is_in_use = state.opened.read().is_some();
        let deadline = Instant::now() + state.plan.times.close_timeout;
        is_in_use && state.progress.wait_durable(number, deadline)
    }

    /// Counts a look-up that found a response that may be used as it is.
    pub(crate) fn note_hit(&self) {
        self.state.metrics.hits.add(1);
    }

    /// Counts a look-up that found a response to revalidate.
    pub(crate) fn note_stale(&self) {
        self.state.metrics.stale.add(1);
    }

    /// Counts a look-up that found no response.
    pub(crate) fn note_miss(&self) {
        self.state.metrics.misses.add(1);
    }

    /// Blocks all readers until the gate is unlocked.
    pub(crate) fn hold_readers(&self, gate: &Arc<Mutex<()>>) {
        for _ in 0..READERS {
            let gate = Arc::clone(gate);
            let job = self.readers.run(READS, move || drop(gate.lock()));
            // The first poll queues the job.
            let mut job = Box::pin(job);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = job.as_mut().poll(&mut context);
        }
    }

    /// Returns the status of the tier.
    pub(crate) fn status(&self) -> DiskStatus {
        let state = &self.state;
        let opened = state.opened.read().clone();
        DiskStatus {
            dir: state.plan.dir.clone(),
            entries: opened.as_ref().map_or(0, |opened| opened.log.entries()),
            bytes: opened.as_ref().map_or(0, |opened| opened.log.used()),
            bytes_max: state.plan.bytes,
            waiting: state.queue.count(),
            reason: state.reason.lock().clone().or_else(|| state.slowness()),
        }
    }
}

impl Drop for DiskTier {
    fn drop(&mut self) {
        self.state.queue.stop();
        let Some((writer, ended)) = self.writer.get_mut().take() else { return };
        if ended.recv_timeout(self.state.plan.times.close_timeout) == Err(RecvTimeoutError::Timeout)
        {
            let dir = self.state.plan.dir.display();
            tracing::error!(%dir, "the cache on disk did not stop in time; changes are lost");
            return;
        }
        // If the writer panicked, the panic itself is in the log already.
        let _ = writer.join();
    }
}

fn is_worth(entry: &Entry, now: Instant) -> bool {
    let life = entry.fresh + entry.while_revalidate.max(entry.if_error);
    let has_validator = entry.etag.is_some() || entry.last_modified.is_some();
    !entry.sets_cookie && (has_validator || life.saturating_sub(entry.age(now)) >= LIFE_MIN)
}

#[cfg(test)]
mod tests;
