//! Says how calls leave that wait for one another: one at a time after each's work, or one for each
//! token of a limiter.
//!
//! Both make combs. In both, most calls that were waiting end one quantum after the one before. A
//! timer that each call has for itself does not do that. In a convoy the first call takes as long
//! as each wait does; a limiter lets the first ones pass at once.
//! Invariant: without times of the calls nothing is said.

use super::fit::CombLine;
use crate::quantiles::Sorted;
use crate::series::Series;

/// Calls that were waiting, at least.
const WAITING_MIN: usize = 12;
/// Part of them that end one quantum after another.
const PACED_MIN: f64 = 0.7;
/// The distance may be off by this part of the quantum.
const OFF_MAX: f64 = 0.1;
/// A call alone takes at least this part of the quantum, in a convoy.
const ALONE_MIN: f64 = 0.6;

/// Returns `convoy` or `tokens` where the waits of a comb are those for other calls.
pub(super) fn of(series: &Series, line: &CombLine, base: Option<f64>) -> Option<String> {
    let mut spans: Vec<[f64; 2]> =
        series.began_ms.iter().zip(&series.total_ms).map(|(at, ms)| [*at, at + ms]).collect();
    spans.sort_by(|one, other| one[1].total_cmp(&other[1]));
    let waiting = spans
        .windows(2)
        .filter(|pair| pair[1][0] < pair[0][1] && pair[1][1] - pair[1][0] > 0.5 * line.quantum);
    let gaps: Vec<f64> = waiting.map(|pair| pair[1][1] - pair[0][1]).collect();
    let paced = gaps.iter().filter(|gap| (*gap / line.quantum - 1.0).abs() < OFF_MAX).count();
    if gaps.len() < WAITING_MIN || (paced as f64) < PACED_MIN * gaps.len() as f64 {
        return None;
    }
    let fastest = base.unwrap_or_else(|| Sorted::new(&series.total_ms).at(0.02));
    Some(if fastest > ALONE_MIN * line.quantum { "convoy" } else { "tokens" }.to_owned())
}
