//! What lanes, writer, syncer and sealer share: options, signals, counters and alarms.
//!
//! Invariant: a lane touches only the atomics here on its way in; locks are for the threads.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use stdx::Disk;

use crate::durable::Durable;
use crate::error::Unrecorded;
use crate::lane::Buffer;
use crate::options::{OnFull, Options};
use crate::sealer::Bell;

/// How long lines may gather before they are written.
const GATHER: Duration = Duration::from_millis(5);

pub(crate) struct Shared {
    pub options: Options,
    pub disk: Arc<dyn Disk>,
    pub signal: Signal,
    pub lanes: Mutex<Vec<Arc<Buffer>>>,
    pub durable: Durable,
    pub bell: Bell,
    pub counters: Counters,
    pub alarms: Alarms,
    /// Serialises removal and replacement of sealed segments.
    pub upkeep: Mutex<()>,
    mode: AtomicU8,
}

/// Lines are taken, and written.
const OPEN: u8 = 0;
/// Lines cannot be written at present.
const FAILING: u8 = 1;
/// Lines are not taken any more.
const CLOSED: u8 = 2;

impl Shared {
    pub(crate) fn new(options: Options, disk: Arc<dyn Disk>, end: u64) -> Self {
        Self {
            durable: Durable::new(options.sync, end),
            options,
            disk,
            signal: Signal::default(),
            lanes: Mutex::default(),
            bell: Bell::default(),
            counters: Counters { offset: AtomicU64::new(end), ..Counters::default() },
            alarms: Alarms::default(),
            upkeep: Mutex::default(),
            mode: AtomicU8::new(OPEN),
        }
    }

    pub(crate) fn dir(&self) -> &PathBuf {
        &self.options.dir
    }

    /// Returns whether a line is taken. One that wants a ticket is not while lines cannot be
    /// written, since its ticket could not be settled soon.
    #[inline]
    pub(crate) fn accepts(&self, durable: bool) -> bool {
        match self.mode.load(Ordering::Relaxed) {
            OPEN => true,
            FAILING => !durable && self.options.on_full == OnFull::Serve,
            _ => false,
        }
    }

    #[cold]
    pub(crate) fn refuse_line(&self) -> Unrecorded {
        self.counters.unrecorded.fetch_add(1, Ordering::Relaxed);
        match (self.mode.load(Ordering::Relaxed), self.options.on_full) {
            (CLOSED, _) => Unrecorded::Closed,
            (_, OnFull::Serve) => Unrecorded::Dropped,
            (_, OnFull::Refuse) => Unrecorded::Refused,
        }
    }

    pub(crate) fn set_failing(&self, failing: bool) {
        let (from, to) = if failing { (OPEN, FAILING) } else { (FAILING, OPEN) };
        // A closed journal stays closed.
        let _ = self.mode.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.mode.store(CLOSED, Ordering::Release);
        self.signal.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.mode.load(Ordering::Acquire) == CLOSED
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == FAILING
    }

    pub(crate) fn lanes_are_empty(&self) -> bool {
        self.lanes.lock().iter().all(|lane| lane.is_empty())
    }
}

/// Wakes the writer, as rarely as it can.
#[derive(Default)]
pub(crate) struct Signal {
    writer: OnceLock<Thread>,
    /// The writer sleeps until a line comes.
    idle: AtomicBool,
    /// Something must not wait for the writer's next round.
    urgent: AtomicBool,
}

impl Signal {
    /// Names the calling thread as the writer.
    pub(crate) fn is_writer(&self) {
        self.writer.get_or_init(thread::current);
    }

    /// Tells that a lane took a line. The lane's mutex orders this after the writer's look into
    /// the lanes: either the writer saw the line, or this sees that the writer is idle.
    #[inline]
    pub(crate) fn appended(&self, urgent: bool) {
        if urgent {
            self.wake();
        } else if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// Makes the writer come round at once.
    pub(crate) fn wake(&self) {
        if !self.urgent.swap(true, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// Waits for the next round: until lines have gathered for a while, or until `nothing` ends.
    pub(crate) fn wait(&self, nothing: impl Fn() -> bool, idle_max: Duration) {
        if !self.urgent.load(Ordering::Acquire) {
            self.idle.store(true, Ordering::Release);
            if nothing() {
                thread::park_timeout(idle_max);
            }
            self.idle.store(false, Ordering::Release);
        }
        if !self.urgent.load(Ordering::Acquire) {
            thread::park_timeout(GATHER.min(idle_max));
        }
        self.urgent.store(false, Ordering::Release);
    }

    fn unpark(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Counters {
    /// The end of the last line written.
    pub offset: AtomicU64,
    pub lines: AtomicU64,
    pub bytes: AtomicU64,
    pub unrecorded: AtomicU64,
    pub sync_failures: AtomicU64,
    pub repaired_bytes: AtomicU64,
}

/// What an operator must know.
#[derive(Default)]
pub(crate) struct Alarms {
    /// Why lines cannot be written.
    pub write: Mutex<Option<String>>,
    /// Why lines do not become durable.
    pub sync: Mutex<Option<String>>,
    /// Why sealed segments are not compressed or deleted.
    pub upkeep: Mutex<Option<String>>,
}

/// Raises, replaces or clears an alarm, and logs when it changes.
pub(crate) fn set_alarm(alarm: &Mutex<Option<String>>, text: Option<String>) {
    let mut current = alarm.lock();
    if *current == text {
        return;
    }
    match &text {
        Some(cause) => tracing::error!(%cause, "journal alarm"),
        None => tracing::info!("journal alarm is over"),
    }
    *current = text;
}
