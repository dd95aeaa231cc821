//! Finds where the slow calls begin, so that a comb among them is searched for on its own.
//!
//! That is the first deep valley after the highest hump of the logarithms, else the 90th percentile
//! of 300 calls or more.
//! Invariant: at least 15 calls are above the cut, enough for a comb, and less than 95 % of all.
//! Without such a cut there is none.
//!
//! The 15 are three teeth of five calls (`teeth.rs`: `TEETH`, `TOOTH_CALLS`). After a change count
//! combs again (`examples/calibrate.rs`, docs/lab/trust.md).
//! Never here: the slow calls of `split.rs`, which steps and attributes are judged by.

use super::density::{Grid, peaks};
use super::null::{ends, shift};
use crate::quantiles::Sorted;

/// Calls in a tail, at least: three teeth of five.
const CALLS_MIN: usize = 15;
/// A valley is at most this part of the lower of the humps beside it.
const VALLEY_MAX: f64 = 0.5;
/// Without a valley, the tail is the slowest tenth of so many calls.
const TENTH_OF: usize = 300;

/// Returns the time above which calls are the tail: the first valley after the highest hump of the
/// logarithms, else the 90th percentile.
pub(super) fn cut(values: &[f64]) -> Option<f64> {
    let sorted = Sorted::new(values);
    let cut = valley(values).or_else(|| (values.len() >= TENTH_OF).then(|| sorted.at(0.9)))?;
    let above = values.len() - sorted.values().partition_point(|value| *value <= cut);
    (above >= CALLS_MIN && above * 20 < values.len() * 19).then_some(cut)
}

fn valley(values: &[f64]) -> Option<f64> {
    let shift = shift(values);
    let logs = Sorted::of(values.iter().map(|value| (value + shift).ln()));
    let (low, high) = ends(logs.values());
    let width = (logs.at(0.75) - logs.at(0.25)) / 1.349;
    let spread = if width > 0.0 { logs.deviation().min(width) } else { logs.deviation() };
    let grid = Grid::new(low, high);
    let h = 0.9 * spread * (values.len() as f64).powf(-0.2);
    let curve = grid.density(logs.values().iter().copied()).smooth(h);
    let tops = peaks(&curve);
    let main =
        (0..tops.len()).max_by(|one, other| curve[tops[*one]].total_cmp(&curve[tops[*other]]))?;
    tops[main..].windows(2).find_map(|pair| {
        let valley =
            (pair[0]..pair[1]).min_by(|one, other| curve[*one].total_cmp(&curve[*other]))?;
        let cut = grid.at(valley).exp() - shift;
        let beyond = values.iter().filter(|value| **value > cut).count();
        let deep = curve[valley] <= VALLEY_MAX * curve[pair[0]].min(curve[pair[1]]);
        (deep && beyond >= CALLS_MIN).then_some(cut)
    })
}

#[cfg(test)]
mod tests;
