//! Holds the state that the threads of the tier share: the log, the queue, the purges, the marks,
//! the metrics.
//!
//! It also defines [`DiskPlan`] and [`DiskTimes`], reads one record from the log, and decides by
//! the doorkeeper whether a full disk takes a response. Full is a log that has evicted since it was
//! opened. This file also says when the disk hangs; `/status` shows that as an alarm.
//! Invariants: a damaged record is counted and its key queued to be forgotten. The latest wall time
//! never decreases until the log is removed; while the clock is over 1 s behind it, ages are
//! unknown. A failure of the engine in a read marks the log as broken, for `writer` to remove. What
//! is read gets the stamp up to which purges were made before the read (`progress`).
//! A mark counts the changes of a key, so that a slow read can detect a change. `tier` counts it
//! up, `store` compares; keys share 4,096 marks, which costs needless misses only.
//! The times are not configured; docs/operating/cache-on-disk.md names the flush of a second,
//! docs/operating/failures.md the retries after 1 to 60 s.
//! Never here: the thread that writes (`writer`), and the wait of a request for a read (`tier`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stdx::{Clock, Disk};
use twox_hash::XxHash3_128;

use super::doorkeeper::Doorkeeper;
use super::log::RecordLog;
use super::metrics::DiskMetrics;
use super::progress::PurgeProgress;
use super::queue::WriteQueue;
use super::record::{self, Clocks, Damaged, DiskContent};
use crate::entry::Entry;
use crate::purge::Purges;

/// The directory of the tier, its size and its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskPlan {
    /// Its directory, which nothing else may use.
    pub dir: PathBuf,
    /// Bytes that it may take.
    pub bytes: u64,
    /// Its timeouts and intervals.
    pub times: DiskTimes,
}

/// The timeouts and intervals of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskTimes {
    /// Longest time of a read. After that the look-up is a miss, because the origin is faster.
    pub read_timeout: Duration,
    /// Longest time that the start waits for the log to open.
    pub open_timeout: Duration,
    /// Longest time that the stop waits for the last write.
    pub close_timeout: Duration,
    /// Longest time before a change is durable; a crash may lose the changes of this time.
    pub flush_interval: Duration,
    /// Time before the first retry after a failure.
    pub retry_interval_min: Duration,
    /// Longest time between two retries.
    pub retry_interval_max: Duration,
}

impl Default for DiskTimes {
    fn default() -> Self {
        Self {
            read_timeout: Duration::from_millis(250),
            open_timeout: Duration::from_secs(1),
            close_timeout: Duration::from_secs(10),
            flush_interval: Duration::from_secs(1),
            retry_interval_min: Duration::from_secs(1),
            retry_interval_max: Duration::from_secs(60),
        }
    }
}

impl DiskTimes {
    /// Returns times for tests: writes happen almost at once, and a busy machine has time enough.
    pub fn for_tests() -> Self {
        Self {
            read_timeout: Duration::from_secs(60),
            open_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(1),
            flush_interval: Duration::from_millis(20),
            retry_interval_min: Duration::from_millis(20),
            retry_interval_max: Duration::from_secs(1),
        }
    }
}

/// Microseconds that the wall clock may go back; beyond that no age can be computed.
const LAG_US_MAX: u64 = 1_000_000;
/// Counters of changes, chosen by the hash of a key. A change of another key that shares the
/// counter costs a needless miss.
const MARKS: usize = 4096;
/// Duration of a write above which the tier raises an alarm.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);

/// An open log, and the lock on its directory, which is released after the log is closed.
pub(super) struct Opened {
    /// The log.
    pub log: RecordLog,
    pub(super) _lock: Box<dyn Send + Sync>,
}

/// The state that the threads of the tier share.
pub(super) struct DiskState {
    pub plan: DiskPlan,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub opened: RwLock<Option<Arc<Opened>>>,
    pub queue: WriteQueue,
    pub doorkeeper: Mutex<Doorkeeper>,
    /// Counters of changes; several keys share one.
    pub marks: Vec<AtomicU64>,
    /// The latest time that the wall clock has shown, microseconds since the Unix epoch.
    pub latest_us: AtomicU64,
    /// End of the time in which the disk is not read, because it was too slow.
    pub rests_until: Mutex<Option<Instant>>,
    /// Whether the engine has failed, so that the log must be removed.
    pub broken: AtomicBool,
    /// The reason why the tier is out of use.
    pub reason: Mutex<Option<String>>,
    /// The purges of this process.
    pub purges: Arc<Purges>,
    /// How far they have come on disk.
    pub progress: PurgeProgress,
    pub metrics: DiskMetrics,
}

impl DiskState {
    /// Returns the state of a tier without an open log.
    pub(super) fn new(
        plan: DiskPlan,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        purges: Arc<Purges>,
        metrics: DiskMetrics,
    ) -> Self {
        Self {
            plan,
            disk,
            clock,
            opened: RwLock::default(),
            queue: WriteQueue::default(),
            doorkeeper: Mutex::default(),
            marks: (0..MARKS).map(|_| AtomicU64::new(0)).collect(),
            latest_us: AtomicU64::new(0),
            rests_until: Mutex::default(),
            broken: AtomicBool::new(false),
            reason: Mutex::default(),
            purges,
            progress: PurgeProgress::default(),
            metrics,
        }
    }

    pub(super) fn mark(&self, key: &[u8]) -> &AtomicU64 {
        let hash = XxHash3_128::oneshot(key) as usize;
        &self.marks[hash % MARKS]
    }

    pub(super) fn push(&self, key: &[u8], stored: Option<DiskContent>) {
        let is_answer = stored.is_some();
        let in_use = self.opened.read().is_some();
        let kept = self.queue.push(key.into(), stored.filter(|_| in_use));
        if is_answer && !(kept && in_use) {
            self.metrics.dropped.add(1);
        }
    }

    /// Whether the response of a key may be written: on a full disk it would displace others.
    pub(super) fn admits(&self, key: &[u8]) -> bool {
        let is_full = self.opened.read().as_ref().is_some_and(|opened| opened.log.evicted() > 0);
        let admitted = !is_full || self.doorkeeper.lock().knows(key);
        if !admitted {
            self.metrics.first.add(1);
        }
        admitted
    }

    /// Reads a record. It must run on a thread that may block.
    pub(super) fn read(&self, opened: &Opened, key: &[u8]) -> Option<DiskContent> {
        // Before the read, so that every later purge is judged by its record in `purge`.
        let stamp = self.progress.made();
        let found = match opened.log.get(key) {
            Ok(found) => found?,
            Err(error) => {
                self.engine_failed(&error.to_string());
                return None;
            }
        };
        let clocks = self.clocks();
        match record::decode(&found.bytes, key, stamp, clocks) {
            Ok(DiskContent::Entry(mut kept)) => {
                if let Some(stale_us) = found.stale_us {
                    kept.entry = stale_since(stale_us, &kept.entry, clocks);
                }
                Some(DiskContent::Entry(kept))
            }
            Ok(names) => Some(names),
            Err(Damaged) => {
                self.metrics.damaged.add(1);
                self.queue.push(key.into(), None);
                None
            }
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.rests_until.lock().is_some_and(|end| Instant::now() < end)
    }

    /// Returns the reason for an alarm if the disk hangs without an error.
    pub(super) fn slowness(&self) -> Option<String> {
        if self.queue.writing_for() > WRITE_TIME_MAX {
            return Some(format!("a write takes longer than {WRITE_TIME_MAX:?}"));
        }
        self.is_at_rest().then(|| {
            let timeout = self.plan.times.read_timeout;
            format!("a read took longer than {timeout:?}")
        })
    }

    pub(super) fn clocks(&self) -> Clocks {
        let wall = self.clock.unix_micros();
        let latest = self.latest_us.fetch_max(wall, Ordering::Relaxed);
        Clocks { now: Instant::now(), wall: (wall + LAG_US_MAX >= latest).then_some(wall) }
    }

    pub(super) fn engine_failed(&self, reason: &str) {
        self.metrics.errors.add(1);
        if !self.broken.swap(true, Ordering::Relaxed) {
            let dir = self.plan.dir.display();
            tracing::error!(%dir, reason, "the cache on disk failed; its log will be removed");
        }
    }
}

/// Returns a response as a soft purge left it at a wall time.
fn stale_since(stale_us: u64, entry: &Entry, clocks: Clocks) -> Arc<Entry> {
    let passed = clocks.wall.map_or(0, |wall| wall.saturating_sub(stale_us));
    let at = clocks.now.checked_sub(Duration::from_micros(passed));
    entry.made_stale(at.unwrap_or(clocks.now))
}

#[cfg(test)]
mod tests;
