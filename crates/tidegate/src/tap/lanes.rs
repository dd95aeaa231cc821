//! Counts on many cores, each in a lane of its own.
//!
//! Two cores that add to one number send its cache line to and fro. That costs more than the rest
//! of an exchange that nobody wants to see. Here each thread has a lane, and a sum reads them all.
//! Threads beyond [`LANES`] share one with another, which costs time and no count.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const LANES: usize = 32;

thread_local! {
    /// The lane of this thread; none yet.
    static LANE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct CountLanes([CountLane; LANES]);

/// Two cache lines, for processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CountLane(AtomicU64);

impl CountLanes {
    /// Adds one in the lane of this thread.
    pub(super) fn add_one(&self) {
        self.0[lane()].0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number as it stands.
    pub(super) fn sum(&self) -> u64 {
        self.0.iter().map(|lane| lane.0.load(Ordering::Relaxed)).sum()
    }
}

fn lane() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if LANE.get() == usize::MAX {
        LANE.set(NEXT.fetch_add(1, Ordering::Relaxed) % LANES);
    }
    LANE.get()
}
