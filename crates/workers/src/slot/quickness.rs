//! Estimates how many more requests a worker would answer soon.
//!
//! The estimate of a request's time is a moving mean: answers that are read together look as if the
//! first had taken all the time. A request counts for [`LENGTH_MAX`] at most, since those behind it
//! wait no longer. So a pause of the machine costs little, and long requests that come often end
//! all lending ahead.
//! Bounds: [`AHEAD_MAX`] requests, whose times together are at most [`AHEAD_TIME`]. Nothing goes to
//! a worker that is already longer at a request than the estimate allows for all.
//! Never here: which requests may go ahead (`lending`), taking them back (the gateway).

use std::time::{Duration, Instant};

/// Requests that a worker has at most, that with which it is busy among them.
const AHEAD_MAX: u128 = 16;
/// How long a request that is lent ahead may have to wait, by the estimate.
const AHEAD_TIME: Duration = Duration::from_millis(1);
/// What a request counts for at most: after that, those behind it are taken back (`BEHIND_MAX` in
/// the gateway's `upstream/workers.rs`).
const LENGTH_MAX: Duration = Duration::from_millis(5);
/// What a request is thought to take before any was seen.
const UNKNOWN: Duration = Duration::from_millis(10);
/// The share of the last request in the mean is one of so many.
const SHARES: u32 = 16;

/// How quickly a worker answers.
#[derive(Debug)]
pub(crate) struct Quickness {
    /// When it was given a request while it had none, or last answered one.
    since: Instant,
    estimate: Duration,
}

impl Default for Quickness {
    fn default() -> Self {
        Self { since: Instant::now(), estimate: UNKNOWN }
    }
}

impl Quickness {
    /// A worker that had none is given a request.
    pub(super) fn begin(&mut self, now: Instant) {
        self.since = now;
    }

    /// A request was answered.
    pub(super) fn end(&mut self, now: Instant) {
        let took = now.duration_since(self.since).min(LENGTH_MAX);
        self.estimate = self.estimate - self.estimate / SHARES + took / SHARES;
        self.since = now;
    }

    /// How many requests it may have.
    pub(super) fn requests_ahead(&self, now: Instant) -> usize {
        if now.duration_since(self.since) > AHEAD_TIME {
            return 0;
        }
        let fitting = AHEAD_TIME.as_nanos() / self.estimate.as_nanos().max(1);
        // It is at most `AHEAD_MAX`.
        fitting.min(AHEAD_MAX) as usize
    }
}

#[cfg(test)]
mod tests;
