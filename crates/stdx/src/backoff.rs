//! Computes how long to wait before the next try: delays double with jitter, up to a bound.
//!
//! Half of each delay is fixed and half is drawn ("equal jitter", Brooker, "Exponential Backoff And
//! Jitter", AWS 2015). Clients that failed together spread out only if their callers give each
//! another seed.
//! Invariant: a whole delay begins at `first` and doubles with each call, up to `max`; what is
//! returned lies between its half and itself. No delay exceeds `max`, even where `first` does.
//! Equal seeds give equal delays.
//! Bounds and seeds are the callers'. Refuses: to wait and to count tries; callers do.

use std::time::Duration;

use crate::random::Random;

/// Delays between tries.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
    random: Random,
}

impl Backoff {
    /// Delays that start at `first`, double, and never exceed `max`; `seed` draws the jitter.
    pub fn new(first: Duration, max: Duration, seed: u64) -> Self {
        Self { first, max, next: first.min(max), random: Random::new(seed) }
    }

    /// Returns how long to wait before the next try: between half of the delay and all of it.
    pub fn delay(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(self.max);
        let half = whole / 2;
        half + half.mul_f64(self.random.fraction())
    }

    /// Starts over after a success.
    pub fn reset(&mut self) {
        self.next = self.first.min(self.max);
    }
}

#[cfg(test)]
mod tests;
