//! Tells how many calls one hump holds, where a few calls stand far above it.
//!
//! Fewer than five calls are no mode (`distribution/modes.rs`), so they are left to the mode beside
//! them, which then seems to hold all calls.
//! Invariant: calls stand apart behind a gap in the slower half that is more than twice as wide as
//! all that is below it. That is a description of these calls, and no test.

use crate::Sorted;

/// A gap is so many times as wide as what is below it.
const GAP_MIN: f64 = 2.0;

/// Returns the share of the calls that are below such a gap; 1 without one.
pub fn together_share(total_ms: &[f64]) -> f64 {
    let sorted = Sorted::new(total_ms);
    let values = sorted.values();
    let is_gap = |at: &usize| {
        let below = values[*at] - values[0];
        values[*at + 1] - values[*at] > GAP_MIN * below.max(values[*at] / 10.0)
    };
    let first = (values.len() / 2..values.len().saturating_sub(1)).find(is_gap);
    first.map_or(1.0, |at| (at + 1) as f64 / values.len() as f64)
}

#[cfg(test)]
mod tests;
