//! Holds how the source is: what was read and lost, how fast, and whether it has ended.
//!
//! Bound: [`RATE_SAMPLES_MAX`] samples. Invariant: all but the oldest sample are younger than
//! [`RATE_SPAN`].
//! Never here: clocks. Times come from outside.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits::WatchCounts;

/// Over how long the rate is measured.
const RATE_SPAN: Duration = Duration::from_secs(3);
/// How many samples of it are kept.
const RATE_SAMPLES_MAX: usize = 64;

/// How the source is.
#[derive(Default)]
pub(super) struct SourceState {
    pub(super) counts: WatchCounts,
    pub(super) dropped: u64,
    pub(super) ended: Option<String>,
    /// Whether a server has gone, and is asked again.
    pub(super) is_gone: bool,
    samples: VecDeque<(Duration, u64)>,
}

impl SourceState {
    /// Notes how many exchanges were counted by now.
    pub(super) fn sample(&mut self, now: Duration, exchanges: u64) {
        self.samples.push_back((now, exchanges + self.dropped));
        while self.samples.len() > RATE_SAMPLES_MAX
            || self.samples.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) >= RATE_SPAN)
        {
            self.samples.pop_front();
        }
    }

    /// Exchanges a second.
    pub(super) fn rate(&self) -> f64 {
        let (Some((from, before)), Some((to, after))) = (self.samples.front(), self.samples.back())
        else {
            return 0.0;
        };
        let seconds = to.saturating_sub(*from).as_secs_f64();
        if seconds > 0.0 { (after - before) as f64 / seconds } else { 0.0 }
    }
}
