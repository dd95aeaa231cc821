//! What the threads of the tier share: the store in use, what waits, what was purged, how it goes.
//!
//! Invariant: what was replaced or forgotten since it was written never comes back; a mark counts
//! the changes of a key, so that who reads slowly can tell.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use stdx::{Clock, Disk};
use twox_hash::XxHash3_128;

use super::doorkeeper::Doorkeeper;
use super::log::{Hash, RecordLog};
use super::metrics::DiskMetrics;
use super::purges::PurgeLog;
use super::queue::WriteQueue;
use super::record::{self, Clocks, DiskContent, Doubt};

/// Where the tier is, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskPlan {
    /// Its directory, its own alone.
    pub dir: PathBuf,
    /// Bytes that it may take.
    pub bytes: u64,
    /// How long it waits for what.
    pub times: DiskTimes,
}

/// How long the tier waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskTimes {
    /// A read that takes longer is a miss: asking the origin is faster then.
    pub read_timeout: Duration,
    /// How long a start waits for the log to open.
    pub open_timeout: Duration,
    /// How long an end waits for the last write.
    pub close_timeout: Duration,
    /// The longest that a change waits to be written, and what a crash may lose.
    pub flush_interval: Duration,
    /// Time before the first new try after a failure.
    pub retry_interval_min: Duration,
    /// The longest time between two tries.
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
    /// For tests: writes at once, and waits as long as a busy machine may need.
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

/// How far the wall clock may lag behind what it once showed before ages cannot be told.
const LAG_US_MAX: u64 = 1_000_000;
/// Counters of changes by key; two keys that share one cost a needless miss.
const MARKS: usize = 4096;
/// Time after which a write that goes on is a reason for an alarm.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);

/// A log in use, with the lock on its directory, which is given back after it.
pub(super) struct Opened {
    /// The log.
    pub log: RecordLog,
    pub(super) _lock: Box<dyn Send + Sync>,
}

/// What the threads of the tier share.
pub(super) struct DiskState {
    pub plan: DiskPlan,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub opened: RwLock<Option<Arc<Opened>>>,
    pub queue: WriteQueue,
    pub doorkeeper: Mutex<Doorkeeper>,
    /// How often the responses of a key changed.
    pub marks: Vec<AtomicU64>,
    /// The latest that the wall clock ever showed, microseconds.
    pub latest_us: AtomicU64,
    /// Until when the disk is not asked because it was too slow.
    pub rests_until: Mutex<Option<Instant>>,
    /// A reader found that the engine fails.
    pub broken: AtomicBool,
    /// Why the tier is out of use.
    pub reason: Mutex<Option<String>>,
    /// What was purged, in this life and before.
    pub purges: Mutex<PurgeLog>,
    pub metrics: DiskMetrics,
}

impl DiskState {
    /// A tier without a log yet.
    pub(super) fn new(
        plan: DiskPlan,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
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
            purges: Mutex::default(),
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

    /// Whether a key's answer may displace others.
    pub(super) fn admits(&self, key: &[u8]) -> bool {
        let is_full = self.opened.read().as_ref().is_some_and(|opened| opened.log.evicted() > 0);
        let admitted = !is_full || self.doorkeeper.lock().knows(&hash(key));
        if !admitted {
            self.metrics.first.add(1);
        }
        admitted
    }

    /// Reads a record, on a thread that may wait for the disk.
    pub(super) fn read(&self, opened: &Opened, key: &[u8]) -> Option<DiskContent> {
        let record = match opened.log.get(&hash(key)) {
            Ok(record) => record?,
            Err(error) => {
                self.engine_failed(&error.to_string());
                return None;
            }
        };
        match record::decode(&record, key, self.clocks()) {
            Ok(stored) => Some(stored),
            Err(Doubt::OtherKey) => None,
            Err(Doubt::Damaged) => {
                self.metrics.damaged.add(1);
                self.queue.push(key.into(), None);
                None
            }
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.rests_until.lock().is_some_and(|end| Instant::now() < end)
    }

    /// What to tell of a disk that does not fail, but does not answer either.
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
            tracing::error!(dir = %self.plan.dir.display(), reason, "the cache on disk failed");
        }
    }
}

/// The hash by which a key stands in the log.
pub(super) fn hash(key: &[u8]) -> Hash {
    XxHash3_128::oneshot(key).to_le_bytes()
}
