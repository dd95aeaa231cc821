//! Counts failures of workers in a row, and says when the next start may be tried.
//!
//! The first delay is 50 to 100 ms; it doubles up to 30 seconds, with jitter (`stdx::Backoff`).
//! A failed start came to nothing. What served and died young is a failure, too, but no such start:
//! the next worker will serve as well.
//! Invariant: `succeed` forgets all failures. `is_mended_by` tells whether something began after
//! the last of them.
//! By the counts, `decide.rs` refuses requests, and `report.rs` raises an alarm and says `failing`.
//! Never here: which starts must ask. `decide.rs` asks before it fills up or replaces a loss; a
//! reload that somebody asked for is tried at once.

use std::time::{Duration, Instant};

use stdx::Backoff;

const DELAY_MIN: Duration = Duration::from_millis(100);
const DELAY_MAX: Duration = Duration::from_secs(30);

/// Counts failures, and says when the next start may be tried.
#[derive(Debug)]
pub(super) struct StartPace {
    backoff: Backoff,
    not_before: Option<Instant>,
    /// When the last try failed.
    failed: Option<Instant>,
    /// Tries that failed, and workers that died young, one after the other.
    pub failures: u32,
    /// Starts that failed since one came into service.
    pub failed_starts: u32,
}

impl StartPace {
    pub(super) fn new(seed: u64) -> Self {
        let backoff = Backoff::new(DELAY_MIN, DELAY_MAX, seed);
        Self { backoff, not_before: None, failed: None, failures: 0, failed_starts: 0 }
    }

    pub(super) fn may_start(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }

    /// How long until the next try.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Notes that a start came to nothing.
    pub(super) fn fail_start(&mut self, now: Instant) {
        self.failed_starts += 1;
        self.fail(now);
    }

    /// Notes a start that came into service.
    pub(super) fn start(&mut self) {
        self.failed_starts = 0;
    }

    /// Notes a failure of something that had started.
    pub(super) fn fail(&mut self, now: Instant) {
        self.failures += 1;
        self.failed = Some(now);
        self.not_before = Some(now + self.backoff.delay());
    }

    /// Whether what began then came after all that failed, and something did.
    pub(super) fn is_mended_by(&self, began: Instant) -> bool {
        self.failures > 0 && self.failed.is_some_and(|failed| failed < began)
    }

    pub(super) fn succeed(&mut self) {
        self.backoff.reset();
        self.not_before = None;
        self.failures = 0;
        self.failed_starts = 0;
    }
}
