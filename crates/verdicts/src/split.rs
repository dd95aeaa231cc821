//! Chooses which calls are slow and which are typical, by their times alone.
//!
//! Slow is above a threshold: what the user says, or the 95th percentile. Below 200 calls the
//! threshold leaves about ten above it, at most a quarter; equal times can leave fewer. Typical are
//! the calls around the median: a fifth of all, and below 250 calls fifty, at most half. A
//! threshold that the user sets low cuts typical calls off.
//! Invariant: no call is both. Steps and attributes are not looked at, so tests of them are fair.
//! Failure: of no calls both lists are empty, and so may either be.
//!
//! The shares stand in docs/lab/verdicts.md; the help of `cli/lab/report.rs` and `cli/lab/probe.rs`
//! says "the slowest twentieth", too. `steps/excess.rs` relies on sides that are whole ranges of
//! the sorted times. After a change count steps again (`examples/calibrate.rs`, docs/lab/trust.md).

use crate::quantiles::Sorted;

/// The slowest calls by default.
const SLOW_SHARE: f64 = 0.05;
/// At least so many, where that is at most [`SLOW_SHARE_MAX`] of all.
const SLOW_MIN: f64 = 10.0;
const SLOW_SHARE_MAX: f64 = 0.25;
/// Calls around the median that are typical.
const TYPICAL_SHARE: f64 = 0.2;
const TYPICAL_MIN: f64 = 50.0;
const TYPICAL_SHARE_MAX: f64 = 0.5;

/// The slow and the typical calls of a series, by row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Split {
    /// Calls that take longer than this are slow.
    pub slow_over_ms: f64,
    /// Whether the user said so.
    pub is_given: bool,
    /// Rows of slow calls.
    pub slow: Vec<u32>,
    /// Rows of typical calls.
    pub typical: Vec<u32>,
}

impl Split {
    /// Splits calls by their times; `slow_over_ms` is what the user calls slow.
    pub fn new(total_ms: &[f64], slow_over_ms: Option<f64>) -> Self {
        let sorted = Sorted::new(total_ms);
        let calls = sorted.len() as f64;
        if sorted.is_empty() {
            return Self::default();
        }
        let share = SLOW_SHARE.max(SLOW_MIN / calls).min(SLOW_SHARE_MAX);
        let is_given = slow_over_ms.is_some();
        let slow_over_ms = slow_over_ms.unwrap_or_else(|| sorted.at(1.0 - share));
        let half = TYPICAL_SHARE.max(TYPICAL_MIN / calls).min(TYPICAL_SHARE_MAX) / 2.0;
        let (low, high) = (sorted.at(0.5 - half), sorted.at(0.5 + half).min(slow_over_ms));
        let rows = |is_in: &dyn Fn(f64) -> bool| {
            (0..total_ms.len() as u32).filter(|row| is_in(total_ms[*row as usize])).collect()
        };
        Self {
            slow_over_ms,
            is_given,
            slow: rows(&|ms| ms > slow_over_ms),
            typical: rows(&|ms| ms >= low && ms <= high),
        }
    }
}

#[cfg(test)]
mod tests;
