//! Wall-clock time behind a trait, so that tests move it by hand.
//!
//! Monotonic time stays `std::time::Instant`; only what is written down or compared across
//! restarts goes through a `Clock`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the wall-clock time.
pub trait Clock: Send + Sync {
    /// Microseconds since the Unix epoch.
    fn unix_micros(&self) -> u64;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_micros(&self) -> u64 {
        unix_micros()
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `micros` microseconds since the Unix epoch.
    pub fn at(micros: u64) -> Self {
        Self(Arc::new(AtomicU64::new(micros)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn unix_micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Microseconds since the Unix epoch by the operating system's clock; 0 before the epoch.
pub fn unix_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
