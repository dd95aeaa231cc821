//! A budget for retries: a share of the requests, and a few a second whatever the share.
//!
//! A retry storm multiplies the load of an upstream that fails already; a budget bounds it to
//! `1 + share` (the design of Finagle's `RetryBudget`).

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::plan::RetryPlan;

/// Credit does not grow beyond that of this span.
const SPAN: Duration = Duration::from_secs(10);

/// Retries that may still be made.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    share: f64,
    min_per_second: f64,
    state: Mutex<(f64, Instant)>,
}

impl RetryBudget {
    /// A budget as planned.
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

    /// Takes one retry out of the budget; false when there is none.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state.lock();
        let now = Instant::now();
        let earned = now.duration_since(state.1).min(SPAN).as_secs_f64() * self.min_per_second;
        state.0 = (state.0 + earned).min(self.most());
        state.1 = now;
        // Ten fifths must buy two retries, whatever rounding makes of them.
        if state.0 < 1.0 - 1e-9 {
            return false;
        }
        state.0 -= 1.0;
        true
    }

    /// Credit that may be saved up, for a thousand requests a second.
    fn most(&self) -> f64 {
        (self.min_per_second + self.share * 1000.0) * SPAN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests;
