//! Asks the calls around a tooth of the spectrum where it stands, without the line through the
//! others.
//!
//! Invariant: nothing is said of a tooth without calls. What is beside it on either side is taken
//! for as much of what is at it, which widens the error.

use super::patterns::Tested;
use crate::quantiles::Sorted;

/// A tooth as the spectrum has it.
pub(super) struct SpectrumTooth {
    /// Where it is.
    pub at: f64,
    /// Standard deviation of its calls.
    pub deviation: f64,
    /// To the next one.
    pub apart: f64,
}

/// Returns where a tooth stands by its calls: the mean of those around it, which is moved there
/// until it stays.
pub(super) fn tested(sorted: &Sorted, tooth: &SpectrumTooth, number: i64) -> Option<Tested> {
    let reach = (2.5 * tooth.deviation).min(0.3 * tooth.apart);
    let between = |from: f64, to: f64| {
        let [from, to] =
            [from, to].map(|edge| sorted.values().partition_point(|value| *value < edge));
        &sorted.values()[from..to]
    };
    let mut at = tooth.at;
    for _ in 0..20 {
        let near = between(at - reach, at + reach);
        if near.is_empty() {
            return None;
        }
        let mean = near.iter().sum::<f64>() / near.len() as f64;
        let half = tooth.apart / 2.0;
        at = mean.clamp(tooth.at - half, tooth.at + half);
    }
    let near = Sorted::new(between(at - reach, at + reach));
    let beside =
        between(at - 2.0 * reach, at - reach).len() + between(at + reach, at + 2.0 * reach).len();
    let calls = near.len() as f64;
    let inner = (calls - beside as f64).max(0.1 * calls);
    let error = near.deviation() * calls.sqrt() / inner;
    Some(Tested { number, off: at - tooth.at, error: error.hypot(0.002 * tooth.apart) })
}
