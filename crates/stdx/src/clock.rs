//! Tells the time through the trait `Clock`, so that tests move it by hand.
//!
//! A `Clock` tells two times. The wall clock is for dates: what is written down, or compared with
//! what was. It may be set back or forward at any moment. The monotonic one is for all that waits:
//! ages, deadlines and intervals (docs/decisions/events.md). A file that asks the wall clock must
//! be listed in `xtask/tidy/wall-clock.txt`.
//! `SystemClock` asks the operating system. `ManualClock` stands still until it is moved, and its
//! clones share one time. `unix_micros` is the wall clock without a trait.
//! Invariant: the monotonic time of either clock never goes back. The system's wall clock reads as
//! 0 before the epoch. Refuses: to wait, and calendar dates, which are in `calendar.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The wall clock, in microseconds since the Unix epoch.
    fn unix_micros(&self) -> u64;

    /// The monotonic clock, which never goes back.
    fn now(&self) -> Instant;
}

/// The operating system's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_micros(&self) -> u64 {
        unix_micros()
    }

    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// Clocks that stand still until they are told to move.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Hands>);

#[derive(Debug)]
struct Hands {
    started: Instant,
    /// Microseconds since then.
    elapsed: AtomicU64,
    unix_micros: AtomicU64,
}

impl ManualClock {
    /// A wall clock that shows `micros` microseconds since the Unix epoch.
    pub fn at(micros: u64) -> Self {
        let (elapsed, unix_micros) = (AtomicU64::new(0), AtomicU64::new(micros));
        Self(Arc::new(Hands { started: Instant::now(), elapsed, unix_micros }))
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        self.0.elapsed.fetch_add(by.as_micros() as u64, Ordering::Relaxed);
        self.0.unix_micros.fetch_add(by.as_micros() as u64, Ordering::Relaxed);
    }

    /// Sets the wall clock back, as an operator does; no time passes.
    pub fn set_back(&self, by: Duration) {
        self.0.unix_micros.fetch_sub(by.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(0)
    }
}

impl Clock for ManualClock {
    fn unix_micros(&self) -> u64 {
        self.0.unix_micros.load(Ordering::Relaxed)
    }

    fn now(&self) -> Instant {
        self.0.started + Duration::from_micros(self.0.elapsed.load(Ordering::Relaxed))
    }
}

/// Microseconds since the Unix epoch by the operating system's clock; 0 before the epoch.
pub fn unix_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
