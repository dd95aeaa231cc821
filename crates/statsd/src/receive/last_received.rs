//! Remembers when something last came in, which receivers note for each batch.
//!
//! Before the first batch the start counts. It is one number without a lock, so of two receivers at
//! once either may win.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// When something last came in; at first the start counts.
#[derive(Debug)]
pub(crate) struct LastReceived {
    started: Instant,
    /// Microseconds after the start.
    after_us: AtomicU64,
}

impl LastReceived {
    /// Nothing has come yet.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), after_us: AtomicU64::new(0) }
    }

    /// Notes that something has come.
    pub(crate) fn note(&self) {
        self.after_us.store(self.started.elapsed().as_micros() as u64, Ordering::Relaxed);
    }

    /// How long ago that was.
    pub(crate) fn age(&self) -> Duration {
        let after = Duration::from_micros(self.after_us.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(after)
    }
}

#[cfg(test)]
mod tests;
