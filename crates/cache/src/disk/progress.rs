//! Tells how far the purges of this process have come on disk, by their numbers.
//!
//! A read takes the number up to which purges are made, before it reads; `purge` judges what it
//! found by the later ones. An operator's purge waits until it is durable.
//! Invariant: numbers only rise, and `made` is never behind `durable`.
//! Never here: which purges wait (`queue`), and making them (`writer`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// How far purges have come.
#[derive(Debug, Default)]
pub(super) struct PurgeProgress {
    /// Purges up to this number show in every read that begins now.
    made: AtomicU64,
    /// Purges up to this number survive a crash.
    durable: Mutex<u64>,
    changed: Condvar,
}

impl PurgeProgress {
    /// Returns the number up to which every purge shows in a read that begins now.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Notes that purges up to this number show in reads.
    pub(super) fn set_made(&self, number: u64) {
        self.made.fetch_max(number, Ordering::AcqRel);
    }

    /// Returns the number up to which purges survive a crash.
    pub(super) fn durable(&self) -> u64 {
        *self.durable.lock()
    }

    /// Notes that the purges made so far survive a crash.
    pub(super) fn set_durable(&self) {
        let mut durable = self.durable.lock();
        *durable = self.made().max(*durable);
        self.changed.notify_all();
    }

    /// Waits until purges up to this number survive a crash; returns false at the deadline.
    pub(super) fn wait_durable(&self, number: u64, deadline: Instant) -> bool {
        let mut durable = self.durable.lock();
        while *durable < number {
            if self.changed.wait_until(&mut durable, deadline).timed_out() {
                return *durable >= number;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
