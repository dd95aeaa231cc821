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
//! flush. The interval's number, which a snapshot carries over restarts, only grows.
//! Also here: the time for rates, and the slot of a last flush. The table, the two and a half
//! intervals and the 1 % of rates are also in docs/STATSD.md. Slots of the wall clock are a
//! decision (docs/decisions/statsd.md). Refuses: to wait (`shutdown.rs`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::flavour::Flavour;

/// When flushes are due.
#[derive(Debug)]
pub(crate) struct FlushClock {
    interval_us: i64,
    /// Flushes are due at this and a multiple of the interval, in microseconds of Unix time.
    origin_us: i64,
    last_due_us: Option<i64>,
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
        Self { interval_us, origin_us: origin_us as i64, last_due_us: None }
    }

    /// Returns how long it is until the next flush is due; ask once for each flush.
    ///
    /// `now_us` is the time in microseconds since the Unix epoch.
    pub(crate) fn until_next(&mut self, now_us: u64) -> Duration {
        let now_us = i64::try_from(now_us).unwrap_or(i64::MAX / 4);
        let since_us = now_us - self.origin_us;
        let mut wait_us = self.interval_us - since_us.rem_euclid(self.interval_us);
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
}

impl Interval {
    /// The first interval, which begins now.
    pub(crate) fn first() -> Self {
        let began = Mutex::new((Instant::now(), Duration::ZERO));
        Self { number: AtomicU64::new(0), began }
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

    /// How much of it has passed.
    pub(crate) fn passed(&self) -> Duration {
        let began = self.began.lock();
        began.0.elapsed() + began.1
    }

    /// Ends it, before anything of it is collected, and begins the next; returns its number and how
    /// long it took.
    pub(crate) fn next(&self) -> (u64, Duration) {
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

/// The next multiple of the interval, in seconds since the Unix epoch.
pub(crate) fn next_slot_s(interval: Duration) -> u64 {
    let interval_us = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX).max(1);
    let slot = stdx::unix_micros() / interval_us + 1;
    rounded_s(slot.saturating_mul(interval_us))
}

/// Seconds since the Unix epoch, rounded as JavaScript rounds.
pub(crate) fn rounded_s(unix_us: u64) -> u64 {
    unix_us.saturating_add(500_000) / 1_000_000
}

#[cfg(test)]
mod tests;
