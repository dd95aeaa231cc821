//! Computes when flushes are due, by a wall clock that may be set at any time, and how long an
//! interval took.
//!
//! | flavour | flushes when |
//! |---|---|
//! | native | the time is a multiple of the interval, so that machines agree |
//! | statsd | intervals have passed since the rounded second of its start |
//! | Perl | intervals have passed since its start |
//!
//! Invariants: the wait for a flush is at most two and a half intervals, whatever the clock does.
//! No two waits in a row are for the same due time, because a database would keep only the last
//! flush. That holds over restarts, too: see [`FlushClock::go_on`] and [`FlushClock::skip_slot`].
//! The interval's number, which a snapshot carries over restarts, only grows.
//! Also here: the time for rates. The table, the two and a half intervals and the 1 % of rates are
//! also in docs/STATSD.md. Slots of the wall clock, and whose the slot of a restart is, are
//! decisions (docs/decisions/statsd.md). Refuses: to wait (`shutdown.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::flavour::Flavour;

/// How far rounding to a second moves a start.
const ROUNDING_US: i64 = 500_000;

/// When flushes are due.
#[derive(Debug)]
pub(crate) struct FlushClock {
    interval_us: i64,
    /// Flushes are due at this and a multiple of the interval, in microseconds of Unix time.
    origin_us: i64,
    last_due_us: Option<i64>,
    /// When the interval is due that the server before this one left.
    left_due_us: Option<i64>,
    is_native: bool,
}

impl FlushClock {
    /// A clock for a server that was started then, in microseconds since the Unix epoch.
    pub(crate) fn new(flavour: Flavour, interval: Duration, started_us: u64) -> Self {
        let origin_us = match flavour {
            Flavour::Native => 0,
            Flavour::Statsd => rounded_s(started_us) * 1_000_000,
            Flavour::Perl => started_us,
        };
        let interval_us = i64::try_from(interval.as_micros()).unwrap_or(i64::MAX / 4).max(1);
        let is_native = flavour == Flavour::Native;
        let (last_due_us, left_due_us) = (None, None);
        Self { interval_us, origin_us: origin_us as i64, last_due_us, left_due_us, is_native }
    }

    /// Goes on with an interval that the server before this one left, which was due then. Natively
    /// it stays due then, if that is still to come.
    pub(crate) fn go_on(&mut self, due_us: u64) {
        self.left_due_us = i64::try_from(due_us).ok().filter(|_| self.is_native);
    }

    /// Leaves out the slot that is under way: a server before this one may have flushed it at its
    /// end. In the other flavours a first flush comes after a whole interval anyway.
    pub(crate) fn skip_slot(&mut self, now_us: u64) {
        if self.is_native {
            self.until_next(now_us);
        }
    }

    /// When the flush is due that was asked for last, in microseconds since the Unix epoch.
    pub(crate) fn due_us(&self) -> u64 {
        self.last_due_us.map_or(0, |due| due.max(0) as u64)
    }

    /// Returns how long it is until the next flush is due; ask once for each flush.
    ///
    /// `now_us` is the time in microseconds since the Unix epoch.
    pub(crate) fn until_next(&mut self, now_us: u64) -> Duration {
        let now_us = i64::try_from(now_us).unwrap_or(i64::MAX / 4);
        let left_us = self.left_due_us.take().map_or(0, |due| due - now_us);
        if left_us > 0 && left_us / 5 <= self.interval_us / 2 {
            self.last_due_us = Some(now_us + left_us);
            return Duration::from_micros(left_us as u64);
        }
        let since_us = now_us - self.origin_us;
        let mut wait_us = self.interval_us - since_us.rem_euclid(self.interval_us);
        // A start that was rounded up is still to come; its first flush is one interval later.
        if !self.is_native && (-ROUNDING_US..0).contains(&since_us) && self.last_due_us.is_none() {
            wait_us = self.interval_us - since_us % self.interval_us;
        }
        // A flush that came a little early is not followed by one right behind it.
        if self.last_due_us.is_some() && wait_us < self.interval_us / 2 {
            wait_us += self.interval_us;
        }
        // The clock was set back by a part of the interval: that slot has been flushed.
        if self.last_due_us == Some(now_us + wait_us) {
            wait_us += self.interval_us;
        }
        self.last_due_us = Some(now_us + wait_us);
        Duration::from_micros(wait_us as u64)
    }
}

/// The interval that goes on.
#[derive(Debug)]
pub(crate) struct Interval {
    /// Only grows, over restarts too.
    number: AtomicU64,
    /// When it began, and how much of it had passed before a restart.
    began: Mutex<(Instant, Duration)>,
    /// When it is due, in microseconds since the Unix epoch; 0 while that is not known.
    due_us: AtomicU64,
    /// When the interval before was due, in seconds, while no backend has it yet; else 0.
    collecting_s: AtomicU64,
}

impl Interval {
    /// The first interval, which begins now.
    pub(crate) fn first() -> Self {
        let began = Mutex::new((Instant::now(), Duration::ZERO));
        let (number, due_us) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { number, began, due_us, collecting_s: AtomicU64::new(0) }
    }

    /// Goes on with the interval of this number, of which `passed` was over before a restart.
    pub(crate) fn resume(&self, number: u64, passed: Duration) {
        self.number.store(number, Ordering::SeqCst);
        *self.began.lock() = (Instant::now(), passed);
    }

    /// Its number.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// When it is due, in microseconds since the Unix epoch; 0 while that is not known.
    pub(crate) fn due_us(&self) -> u64 {
        self.due_us.load(Ordering::SeqCst)
    }

    /// Says when it is due.
    pub(crate) fn set_due(&self, due_us: u64) {
        self.due_us.store(due_us, Ordering::SeqCst);
    }

    /// When the interval before was due, in seconds since the Unix epoch, while no backend has it.
    pub(crate) fn collecting_s(&self) -> Option<u64> {
        Some(self.collecting_s.load(Ordering::SeqCst)).filter(|due_s| *due_s > 0)
    }

    /// Says that backends have the interval before.
    pub(crate) fn handed(&self) {
        self.collecting_s.store(0, Ordering::SeqCst);
    }

    /// How much of it has passed.
    pub(crate) fn passed(&self) -> Duration {
        let began = self.began.lock();
        began.0.elapsed() + began.1
    }

    /// Ends it, before anything of it is collected, and begins the next; returns its number and how
    /// long it took. Whoever calls this says when the next one is due, and when backends have it.
    pub(crate) fn next(&self) -> (u64, Duration) {
        self.collecting_s.store(rounded_s(self.due_us()).max(1), Ordering::SeqCst);
        self.set_due(0);
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        let mut began = self.began.lock();
        let took = began.0.elapsed() + began.1;
        *began = (Instant::now(), Duration::ZERO);
        (number, took)
    }
}

/// Returns how long an interval took, for rates.
///
/// Within 1 % of `meant` it is `meant`: that much is the jitter of waking up. It is at least a
/// second, or `meant` where that is less: the few samples before an end must not look like a peak.
pub(crate) fn elapsed(real: Duration, meant: Duration) -> Duration {
    if real.abs_diff(meant) <= meant / 100 {
        return meant;
    }
    real.max(meant.min(Duration::from_secs(1)))
}

/// Seconds since the Unix epoch, rounded as JavaScript rounds.
pub(crate) fn rounded_s(unix_us: u64) -> u64 {
    unix_us.saturating_add(500_000) / 1_000_000
}

#[cfg(test)]
mod tests;
