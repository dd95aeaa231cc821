//! Decides whether a lane may take a line, counts those not taken, and lists the lanes for the
//! writer.
//!
//! There are three modes: open, failing while lines cannot be written, and closed. A lane below its
//! bound takes lines while open. While failing it takes none that wants a ticket, and others only
//! under `OnFull::Serve`.
//! Invariants: a closed journal stays closed. Taking a line touches only atomics here; the list of
//! lanes has a lock, taken when a lane is added and by the writer. Once a lane's buffer is drained
//! after the close, it takes nothing. So `lane` must ask `accepts` under its buffer's lock, and
//! hold the lock until the line is in.
//! The count of unrecorded lines holds what `lane` was refused and what `writer` lost at the close.
//! Refuses: to hold lines (`buffer`) and to write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::buffer::Buffer;
use crate::error::Unrecorded;
use crate::options::{OnFull, Options};
use crate::signal::Signal;

/// Lines are taken, and written.
const OPEN: u8 = 0;
/// Lines cannot be written at present.
const FAILING: u8 = 1;
/// Lines are not taken any more.
const CLOSED: u8 = 2;

/// The way of lines into the journal.
pub(crate) struct Intake {
    pub signal: Signal,
    lanes: Mutex<Vec<Arc<Buffer>>>,
    mode: AtomicU8,
    on_full: OnFull,
    lane_bytes_max: usize,
    unrecorded: AtomicU64,
}

impl Intake {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            signal: Signal::default(),
            lanes: Mutex::default(),
            mode: AtomicU8::new(OPEN),
            on_full: options.on_full,
            lane_bytes_max: options.lane_bytes_max,
            unrecorded: AtomicU64::new(0),
        }
    }

    /// Adds a lane; returns its buffer.
    pub(crate) fn add_lane(&self) -> Arc<Buffer> {
        let buffer = Arc::new(Buffer::default());
        self.lanes.lock().push(buffer.clone());
        buffer
    }

    pub(crate) fn lanes(&self) -> MutexGuard<'_, Vec<Arc<Buffer>>> {
        self.lanes.lock()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.lock().iter().all(|lane| lane.is_empty())
    }

    /// Returns how many lines the lanes hold.
    pub(crate) fn waiting(&self) -> u64 {
        self.lanes.lock().iter().map(|lane| lane.lock().count).sum()
    }

    /// Returns whether a lane that holds so many bytes takes a line. One that wants a ticket is not
    /// taken while lines cannot be written, since its ticket could not be settled soon.
    #[inline]
    pub(crate) fn accepts(&self, bytes: usize, wants_ticket: bool) -> bool {
        bytes < self.lane_bytes_max
            && match self.mode.load(Ordering::Relaxed) {
                OPEN => true,
                FAILING => !wants_ticket && self.on_full == OnFull::Serve,
                _ => false,
            }
    }

    /// Counts a line that is not taken; returns the reason.
    #[cold]
    pub(crate) fn refuse_line(&self) -> Unrecorded {
        self.count_unrecorded(1);
        match (self.mode.load(Ordering::Relaxed), self.on_full) {
            (CLOSED, _) => Unrecorded::Closed,
            (_, OnFull::Serve) => Unrecorded::Dropped,
            (_, OnFull::Refuse) => Unrecorded::Refused,
        }
    }

    pub(crate) fn count_unrecorded(&self, lines: u64) {
        self.unrecorded.fetch_add(lines, Ordering::Relaxed);
    }

    pub(crate) fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }

    /// Says whether lines can be written at present.
    pub(crate) fn set_failing(&self, is_failing: bool) {
        let (from, to) = if is_failing { (OPEN, FAILING) } else { (FAILING, OPEN) };
        // A closed journal stays closed.
        let _ = self.mode.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes no more lines, and has the writer finish.
    pub(crate) fn close(&self) {
        self.mode.store(CLOSED, Ordering::Release);
        self.signal.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.mode.load(Ordering::Acquire) == CLOSED
    }

    /// Whether lines are taken and written.
    pub(crate) fn is_recording(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == OPEN
    }
}

#[cfg(test)]
mod tests;
