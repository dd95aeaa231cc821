//! Decides whether times have several modes, and says where each is, on the logarithm of the times.
//!
//! Silverman's test and Hartigans' dip decide (`silverman.rs`, `dip.rs`). Then humps are added
//! until k of them are enough, at most eight. Each has its top with a bootstrap interval, its share
//! and its width.
//! Invariant: of samples with one mode nominally at most one in a hundred is called multimodal,
//! because either test must reach half a percent. "Several" needs two modes that hold enough calls.
//!
//! After a change count humps again (`calibration/modes.rs`, docs/lab/trust.md, which also states
//! what a hump holds).
//! Refuses: modes of less than five calls, or of less than a five-hundredth of all calls.

use super::density::{BINS, Grid};
use super::dip::{dip, dip_p};
use super::null::shift;
use super::silverman::{Smoothed, calibrated, tops, valley};
use crate::quantiles::Sorted;
use crate::random::{Draw, Poisson};
use crate::significance::MODES_P_MAX;
use crate::verdict::{LatencyMode, Modality};

/// Raw p-value above which k modes are enough.
const ENOUGH: f64 = 0.05;
const MODES_MAX: usize = 8;
/// Calls that make a mode, and their part of all.
const MODE_CALLS: usize = 5;
const MODE_PART: usize = 500;
/// So much of a mode stays between its valleys when it is smoothed.
const SMOOTHED: f64 = 0.8;
/// Draws for an interval.
const BOOTSTRAPS: usize = 199;

/// Returns the modes of `values`, and whether they are several.
pub(super) fn find(values: &[f64], seed: u64) -> (Modality, bool) {
    let mut draw = Draw::new(seed, 3);
    let shift = shift(values);
    let logs = Sorted::of(values.iter().map(|value| (value + shift).ln()));
    let calls = MODE_CALLS.max(values.len() / MODE_PART);
    let least = SMOOTHED * calls as f64;
    let mut smoothed = Smoothed::of(&logs, 1, least);
    let p = calibrated(smoothed.raw_p(&mut draw));
    let p_dip = dip_p(dip(logs.values()), logs.len());
    let several = p <= MODES_P_MAX || p_dip <= MODES_P_MAX;
    if several {
        for k in 2..=MODES_MAX {
            smoothed = Smoothed::of(&logs, k, least);
            if k == MODES_MAX || smoothed.raw_p(&mut draw) > ENOUGH {
                break;
            }
        }
    }
    let curve = smoothed.curve();
    let between = |pair: &[usize]| smoothed.grid().at(valley(&curve, pair[0], pair[1]));
    let cuts = tops(&curve, least).windows(2).map(|pair| between(pair).exp() - shift).collect();
    let modes = modes(values, cuts, calls, &mut draw);
    let several = several && modes.len() > 1;
    let explained = modes.iter().map(|mode| mode.share).sum();
    let (resolution_ms, is_fixed) = (None, false);
    (Modality { modes, p, p_dip, resolution_ms, is_fixed, explained }, several)
}

/// The modes between `cuts` that hold so many calls.
fn modes(values: &[f64], mut cuts: Vec<f64>, calls: usize, draw: &mut Draw) -> Vec<LatencyMode> {
    cuts.push(f64::INFINITY);
    let mut below = f64::NEG_INFINITY;
    let mut modes = Vec::new();
    for cut in cuts {
        let calls_of = Sorted::of(values.iter().copied().filter(|at| *at > below && *at <= cut));
        below = cut;
        if calls_of.len() >= calls.min(values.len()) {
            modes.push(mode(&calls_of, values.len(), draw));
        }
    }
    modes
}

/// The mode of some calls: where their kernel density is highest, and how that moves when calls are
/// drawn again. The bandwidth is by the rule of thumb (Silverman, 1986, §3.4).
fn mode(sorted: &Sorted, of: usize, draw: &mut Draw) -> LatencyMode {
    let width = sorted.at(0.75) - sorted.at(0.25);
    let spread =
        if width > 0.0 { sorted.deviation().min(width / 1.349) } else { sorted.deviation() };
    let h = 0.9 * spread * (sorted.len() as f64).powf(-0.2);
    let (low, high) = (sorted.at(0.005), sorted.at(0.995));
    let grid = Grid::new(low, high);
    let mut bins = vec![0.0; BINS];
    for value in sorted.values().iter().filter(|value| (low..=high).contains(*value)) {
        bins[grid.bin(*value)] += 1.0;
    }
    let kernel = grid.kernel(h);
    let top = |bins: Vec<f64>| {
        let curve = grid.binned(bins).smoothed(&kernel);
        let top = (0..BINS).max_by(|one, other| curve[*one].total_cmp(&curve[*other]));
        grid.at(top.unwrap_or(0))
    };
    let expected = Poisson::each(bins.iter().copied());
    let mut drawn = || expected.iter().map(|calls| draw.poisson(calls)).collect();
    let moved = (0..BOOTSTRAPS).map(|_| top(drawn()));
    let moved = Sorted::of(moved.collect::<Vec<f64>>());
    let ci_ms = [moved.at(0.025), moved.at(0.975)];
    let share = sorted.len() as f64 / of as f64;
    LatencyMode { at_ms: top(bins), ci_ms, share, width_ms: width }
}

#[cfg(test)]
mod tests;
