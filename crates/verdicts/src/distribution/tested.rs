//! Asks the calls around a tooth of the spectrum where it stands, without the line through the
//! others.
//!
//! Invariant: nothing is said of a tooth without calls. What is beside it on either side is taken
//! for as much of what is at it, on a straight line between. That widens the error.

use super::patterns::{Tested, ToothWidth};
use crate::quantiles::Sorted;

/// Looks from where the last one found the tooth.
const ROUNDS: usize = 3;
/// Calls beside a tooth, to those at it, that are hardly any.
const CLEAN: f64 = 0.15;
/// No tooth is more exact than this part of the distance to the next.
const EXACT: f64 = 0.002;

/// A tooth as the spectrum has it.
pub(super) struct SpectrumTooth {
    /// Where it is.
    pub at: f64,
    /// Standard deviation of its calls.
    pub deviation: f64,
    /// To the next one.
    pub apart: f64,
}

/// Where a tooth of the spectrum stands, and how wide it is.
pub(super) struct TestedTooth {
    pub tested: Tested,
    /// How wide it is, where hardly any calls stand beside it.
    pub width: Option<ToothWidth>,
}

/// Returns where a tooth stands by its calls: the mean of those around it,
/// less that of the background.
pub(super) fn tested(sorted: &Sorted, tooth: &SpectrumTooth, number: i64) -> Option<TestedTooth> {
    let reach = (2.5 * tooth.deviation).min(0.3 * tooth.apart);
    let between = |from: f64, to: f64| {
        let [from, to] =
            [from, to].map(|edge| sorted.values().partition_point(|value| *value < edge));
        &sorted.values()[from..to]
    };
    let half = tooth.apart / 2.0;
    let (mut at, mut error, mut width) = (tooth.at, f64::INFINITY, None);
    for _ in 0..ROUNDS {
        let near = between(at - reach, at + reach);
        if near.is_empty() {
            return None;
        }
        let calls = near.len() as f64;
        let beside = [between(at - 2.0 * reach, at - reach), between(at + reach, at + 2.0 * reach)]
            .map(|beside| beside.len() as f64);
        let background = beside[0] + beside[1];
        let inner = (calls - background).max(0.1 * calls);
        // A background that rises by so many calls from one side to the other pulls by a line.
        let pull = (beside[1] - beside[0]) * 2.0 * reach / 9.0;
        let sum: f64 = near.iter().map(|value| value - at).sum();
        let squares: f64 = near.iter().map(|value| (value - at).powi(2)).sum();
        let deviation = (squares / calls - (sum / calls).powi(2)).max(0.0).sqrt();
        width = (background <= CLEAN * calls && deviation > 0.0).then_some(ToothWidth {
            at,
            deviation,
            calls,
        });
        // A few calls may happen to stand close.
        error = (squares + background * (2.0 * reach / 9.0).powi(2))
            .sqrt()
            .max(tooth.deviation * inner.sqrt())
            / inner;
        at = (at + (sum - pull) / inner).clamp(tooth.at - half, tooth.at + half);
    }
    let tested = Tested { number, off: at - tooth.at, error: error.hypot(EXACT * tooth.apart) };
    Some(TestedTooth { tested, width })
}
