//! Grants retries: a share of the requests, and a fixed number per second.
//!
//! Invariant: over a long time, retries are at most `share` of the requests, besides the fixed
//! number. Unused credit is saved up, for 10 s of the fixed number and the share of 10,000
//! requests. So in a burst every request may be retried until that is spent. All cores draw on one
//! budget. The design is that of `RetryBudget` in Finagle. Never here: which requests may be
//! retried (`servers`).

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::plan::RetryPlan;

/// Time over which credit can be saved up.
const SPAN: Duration = Duration::from_secs(10);

/// The retries that may still be made.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    share: f64,
    min_per_second: f64,
    state: Mutex<(f64, Instant)>,
}

impl RetryBudget {
    /// Makes the budget of a plan.
    pub(crate) fn new(plan: RetryPlan) -> Self {
        let min_per_second = f64::from(plan.min_per_second);
        Self {
            share: plan.share,
            min_per_second,
            state: Mutex::new((min_per_second, Instant::now())),
        }
    }

    /// Counts a request towards the budget.
    pub(crate) fn note_request(&self) {
        let mut state = self.state.lock();
        state.0 = (state.0 + self.share).min(self.most());
    }

    /// Takes one retry out of the budget; returns false if there is none.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state.lock();
        let now = Instant::now();
        let earned = now.duration_since(state.1).min(SPAN).as_secs_f64() * self.min_per_second;
        state.0 = (state.0 + earned).min(self.most());
        state.1 = now;
        // The tolerance is for rounding: ten fifths must buy two retries.
        if state.0 < 1.0 - 1e-9 {
            return false;
        }
        state.0 -= 1.0;
        true
    }

    /// Returns the most credit that can be saved up, as of a thousand requests per second.
    fn most(&self) -> f64 {
        (self.min_per_second + self.share * 1000.0) * SPAN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests;
