//! The second tier: answers on disk, which outlive the process and memory's bound.
//!
//! Answers are written behind the back of requests, when they are stored: what is hot must survive
//! a `kill -9` too, so waiting for memory to evict it would be too late. They are read on threads
//! of the tier's own, so that a disk that hangs holds up neither an I/O core nor a model.
//! Invariants: an answer comes back whole, under its own key, with its age, or not at all; what was
//! replaced or forgotten since never comes back, whatever is still to be written. Whatever fails,
//! requests go on from memory alone: no method here returns an error or waits for the disk longer
//! than `READ_TIME_MAX`.

mod doorkeeper;
mod file;
mod metrics;
mod purges;
mod queue;
mod recall;
mod record;
mod store;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ::metrics::Registry;
use chassis::{WorkPool, WorkRefused};
use parking_lot::{Mutex, RwLock};
use stdx::{Chain, Clock, Disk, RealDisk, SystemClock};
use twox_hash::XxHash3_128;

use crate::cache::memory::{Entry, FieldNames};
use crate::cache::purge::{Area, Verdict};

use doorkeeper::Doorkeeper;
use metrics::DiskMetrics;
use purges::PurgeLog;
use queue::Queue;
use record::{Clocks, Doubt, Kept, Stored};
use store::Hash;
use writer::Opened;

pub(crate) use recall::{forget, keep, recall, room};

/// Threads that read.
const READERS: usize = 2;
/// Reads that may wait for a thread; one more is a miss.
const READS_MAX: usize = 256;
/// Time after which a read is a miss: asking the origin is faster then.
const READ_TIME_MAX: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 250 });
/// Time for which a disk that was too slow is not asked.
const REST: Duration = Duration::from_secs(5);
/// Time after which a write that goes on is told as a fault.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);
/// Time that an end waits for the last write.
const CLOSING_TIME_MAX: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
/// Time that a start waits for the store to open.
const OPENING_TIME_MAX: Duration = Duration::from_secs(if cfg!(test) { 60 } else { 1 });
/// An answer of less use than this, without anything to ask the origin by, is not worth writing.
const LIFE_MIN: Duration = Duration::from_secs(10);
/// How far the wall clock may lag behind what it once showed before ages cannot be told.
const LAG_MAX: u64 = 1_000_000;
/// Counters of changes by key; two keys that share one cost a needless miss.
const MARKS: usize = 4096;

/// Where the tier is, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskPlan {
    /// Its folder, its own alone.
    pub dir: PathBuf,
    /// Bytes that it may take.
    pub bytes: u64,
}

/// The second tier.
pub struct DiskTier {
    shared: Arc<Shared>,
    readers: WorkPool,
    /// The thread that writes, with what ends when it does.
    writer: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
}

struct Shared {
    plan: DiskPlan,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    opened: RwLock<Option<Arc<Opened>>>,
    queue: Queue,
    doorkeeper: Mutex<Doorkeeper>,
    /// How often the answers of a key changed.
    marks: Vec<AtomicU64>,
    /// The latest that the wall clock ever showed, microseconds.
    latest_us: AtomicU64,
    /// Until when the disk is not asked because it was too slow.
    rests_until: Mutex<Option<Instant>>,
    /// A reader found that the engine fails.
    broken: AtomicBool,
    fault: Mutex<Option<String>>,
    /// What was purged, in this life and before.
    log: Mutex<PurgeLog>,
    metrics: DiskMetrics,
}

/// What the tier tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskStatus {
    /// Its folder.
    pub dir: PathBuf,
    /// Records in it.
    pub entries: u64,
    /// Bytes in use.
    pub bytes: u64,
    /// Bytes that it may take.
    pub bytes_max: u64,
    /// Changes that wait to be written.
    pub waiting: usize,
    /// Why it is out of use.
    pub fault: Option<String>,
}

impl std::fmt::Debug for DiskTier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskTier").field("plan", &self.shared.plan).finish_non_exhaustive()
    }
}

impl DiskTier {
    /// Starts the tier on the operating system's disk and clock; `None` where not even a thread can
    /// be had.
    pub fn open(plan: DiskPlan, registry: &Registry) -> Option<Self> {
        let started = Self::start(plan, Arc::new(RealDisk), Arc::new(SystemClock), registry);
        started.inspect_err(|error| tracing::error!(%error, "start the cache on disk")).ok()
    }

    /// Starts the tier. It comes into use when its folder can be used, at once or later.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        plan: DiskPlan,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        registry: &Registry,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            plan,
            disk,
            clock,
            opened: RwLock::default(),
            queue: Queue::default(),
            doorkeeper: Mutex::default(),
            marks: (0..MARKS).map(|_| AtomicU64::new(0)).collect(),
            latest_us: AtomicU64::new(0),
            rests_until: Mutex::default(),
            broken: AtomicBool::new(false),
            fault: Mutex::default(),
            log: Mutex::default(),
            metrics: DiskMetrics::new(registry),
        });
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel();
        let own = Arc::clone(&shared);
        let writer = std::thread::Builder::new().name("disk".to_owned());
        let writer = writer.spawn(move || {
            let _end = end;
            writer::run(&own, &ready);
        })?;
        // A disk that hangs delays the start no longer than this.
        let _ = is_ready.recv_timeout(OPENING_TIME_MAX);
        let readers = WorkPool::start(READERS, READS_MAX)?;
        Ok(Self { shared, readers, writer: Mutex::new(Some((writer, ended))) })
    }

    /// Writes an answer that is about to be stored in memory; whether it is on disk later depends
    /// on its worth and on what the disk can take.
    pub fn keep(&self, key: &[u8], entry: &Arc<Entry>) {
        let shared = &self.shared;
        shared.mark(key).fetch_add(1, Ordering::AcqRel);
        let now = Instant::now();
        let worth = is_worth(entry, now) && shared.admits(key);
        let age = entry.age(now).as_micros() as u64;
        let born_us = shared.clock.unix_micros().saturating_sub(age);
        let stamp = shared.log.lock().stamp(entry.stamp).filter(|_| worth);
        let kept = stamp.map(|stamp| Kept {
            entry: Arc::clone(entry),
            born_us,
            stamp,
            shaped: entry.shapes.is_some(),
        });
        shared.push(key, kept.map(Stored::Entry));
    }

    /// Writes that the answer under a key varies by request fields.
    pub fn keep_names(&self, key: &[u8], names: &FieldNames) {
        self.shared.mark(key).fetch_add(1, Ordering::AcqRel);
        self.shared.push(key, Some(Stored::Varies(Arc::clone(names))));
    }

    /// Forgets what stands under exactly this key; call it before memory forgets.
    pub fn forget(&self, key: &[u8]) {
        self.shared.mark(key).fetch_add(1, Ordering::AcqRel);
        self.shared.push(key, None);
    }

    /// How often the answers of a key changed: what was read between two equal marks is current.
    pub fn mark(&self, key: &[u8]) -> u64 {
        self.shared.mark(key).load(Ordering::Acquire)
    }

    /// Looks up what stands under exactly this key.
    pub async fn find(&self, key: &[u8]) -> Option<Stored> {
        if let Some(wanted) = self.shared.queue.get(key) {
            return wanted;
        }
        let opened = self.shared.opened.read().clone()?;
        if self.shared.is_at_rest() {
            self.shared.metrics.slow.add(1);
            return None;
        }
        let (shared, key) = (Arc::clone(&self.shared), Box::<[u8]>::from(key));
        let read = self.readers.run(move || shared.read(&opened, &key));
        let metrics = &self.shared.metrics;
        match tokio::time::timeout(READ_TIME_MAX, read).await {
            Ok(Ok(found)) => found,
            Ok(Err(WorkRefused::Full)) => {
                metrics.slow.add(1);
                None
            }
            Err(_) => {
                metrics.slow.add(1);
                // A disk that hangs must not cost every miss this time.
                *self.shared.rests_until.lock() = Some(Instant::now() + REST);
                None
            }
            Ok(Err(WorkRefused::Broken)) => {
                self.shared.engine_failed("the engine panicked");
                None
            }
        }
    }

    /// Notes that areas were purged, so that it holds after a restart; `stamp` is the number of the
    /// last purge.
    pub fn purged(&self, areas: &[Area], soft: bool, stamp: u64) {
        self.shared.log.lock().add(areas, soft, stamp);
    }

    /// Writes what was purged, and waits for the disk: what an operator purged stays purged, even
    /// when power is cut. What is invalidated by requests is written within a second.
    pub fn flush_purges(&self) {
        let opened = self.shared.opened.read().clone();
        if let Some(opened) = opened
            && let Err(fault) = writer::log_purges(&self.shared, &opened.store)
        {
            self.shared.engine_failed(&Chain(&fault).to_string());
        }
    }

    /// How far an answer is covered by purges of earlier lives of the process.
    pub fn verdict(&self, kept: &Kept, key: &[u8]) -> Verdict {
        self.shared.log.lock().verdict(kept.stamp, key, &kept.entry.tags)
    }

    /// The last purge of this life before an answer was fetched.
    pub fn stamp(&self, kept: &Kept) -> u64 {
        self.shared.log.lock().stamp_here(kept.stamp)
    }

    /// Keeps all readers busy until they may go on.
    #[cfg(test)]
    pub fn hold_readers(&self, until: &Arc<Mutex<()>>) {
        for _ in 0..READERS {
            let until = Arc::clone(until);
            let held = self.readers.run(move || drop(until.lock()));
            // Queued when it is polled for the first time.
            let mut held = Box::pin(held);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = held.as_mut().poll(&mut context);
        }
    }

    /// What the tier tells of itself.
    pub fn status(&self) -> DiskStatus {
        let shared = &self.shared;
        let opened = shared.opened.read().clone();
        DiskStatus {
            dir: shared.plan.dir.clone(),
            entries: opened.as_ref().map_or(0, |opened| opened.store.entries()),
            bytes: opened.as_ref().map_or(0, |opened| opened.store.used()),
            bytes_max: shared.plan.bytes,
            waiting: shared.queue.count(),
            fault: shared.fault.lock().clone().or_else(|| shared.slowness()),
        }
    }
}

impl Drop for DiskTier {
    fn drop(&mut self) {
        self.shared.queue.stop();
        let Some((writer, ended)) = self.writer.get_mut().take() else { return };
        if ended.recv_timeout(CLOSING_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
            let dir = self.shared.plan.dir.display();
            tracing::error!(%dir, "the cache on disk does not end; what waits is lost");
            return;
        }
        // A panic of the writer was told by itself; there is nobody left to tell.
        let _ = writer.join();
    }
}

impl Shared {
    fn mark(&self, key: &[u8]) -> &AtomicU64 {
        let hash = XxHash3_128::oneshot(key) as usize;
        &self.marks[hash % MARKS]
    }

    fn push(&self, key: &[u8], stored: Option<Stored>) {
        let is_answer = stored.is_some();
        let in_use = self.opened.read().is_some();
        let kept = self.queue.push(key.into(), stored.filter(|_| in_use));
        if is_answer && !(kept && in_use) {
            self.metrics.dropped.add(1);
        }
    }

    /// Whether a key's answer may displace others.
    fn admits(&self, key: &[u8]) -> bool {
        let is_full = self.opened.read().as_ref().is_some_and(|opened| opened.store.evicted() > 0);
        let admitted = !is_full || self.doorkeeper.lock().knows(&hash(key));
        if !admitted {
            self.metrics.first.add(1);
        }
        admitted
    }

    /// Reads a record, on a thread that may wait for the disk.
    fn read(&self, opened: &Opened, key: &[u8]) -> Option<Stored> {
        let record = match opened.store.get(&hash(key)) {
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

    fn is_at_rest(&self) -> bool {
        self.rests_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// What to tell of a disk that does not fail, but does not answer either.
    fn slowness(&self) -> Option<String> {
        if self.queue.writing_for() > WRITE_TIME_MAX {
            return Some(format!("a write takes longer than {WRITE_TIME_MAX:?}"));
        }
        self.is_at_rest().then(|| format!("a read took longer than {READ_TIME_MAX:?}"))
    }

    fn clocks(&self) -> Clocks {
        let wall = self.clock.unix_micros();
        let latest = self.latest_us.fetch_max(wall, Ordering::Relaxed);
        Clocks { now: Instant::now(), wall: (wall + LAG_MAX >= latest).then_some(wall) }
    }

    fn engine_failed(&self, why: &str) {
        self.metrics.errors.add(1);
        if !self.broken.swap(true, Ordering::Relaxed) {
            tracing::error!(dir = %self.plan.dir.display(), why, "the cache on disk failed");
        }
    }
}

fn hash(key: &[u8]) -> Hash {
    XxHash3_128::oneshot(key).to_le_bytes()
}

fn is_worth(entry: &Entry, now: Instant) -> bool {
    let life = entry.fresh + entry.while_revalidate.max(entry.if_error);
    let has_validator = entry.etag.is_some() || entry.last_modified.is_some();
    !entry.sets_cookie && (has_validator || life.saturating_sub(entry.age(now)) >= LIFE_MIN)
}

#[cfg(test)]
mod tests;
