//! How many humps, and where: Silverman's test and Hartigans' dip, on the logarithm of the times.
//!
//! Invariant: "multimodal" is a false alarm in one of a hundred samples with one hump at most:
//! either test must reach half a percent. How often it is one is counted by `calibration::modes`.
//!
//! Refuses: humps of less than five calls, or of less than a five-hundredth of all calls.

use super::density::{BINS, Grid};
use super::dip::{dip, dip_p};
use super::null::shift;
use super::silverman::{Smoothed, calibrated, tops, valley};
use crate::quantiles::Sorted;
use crate::random::{Draw, Poisson};
use crate::significance::MODES_P_MAX;
use crate::verdict::{Modality, Mode};

/// Raw p-value above which k humps are enough.
const ENOUGH: f64 = 0.05;
const HUMPS_MAX: usize = 8;
/// Calls that make a hump, and their part of all.
const HUMP_CALLS: usize = 5;
const HUMP_PART: usize = 500;
/// Of a hump so much stays between its valleys when it is smoothed.
const SMOOTHED: f64 = 0.8;
/// Draws for an interval.
const BOOTSTRAPS: usize = 199;

/// Returns the humps of `values`, and whether they are several.
pub(super) fn find(values: &[f64], seed: u64) -> (Modality, bool) {
    let mut draw = Draw::new(seed, 3);
    let shift = shift(values);
    let logs = Sorted::of(values.iter().map(|value| (value + shift).ln()));
    let calls = HUMP_CALLS.max(values.len() / HUMP_PART);
    let least = SMOOTHED * calls as f64;
    let mut smoothed = Smoothed::of(&logs, 1, least);
    let p = calibrated(smoothed.raw_p(&mut draw));
    let p_dip = dip_p(dip(logs.values()), logs.len());
    let several = p <= MODES_P_MAX || p_dip <= MODES_P_MAX;
    if several {
        for k in 2..=HUMPS_MAX {
            smoothed = Smoothed::of(&logs, k, least);
            if k == HUMPS_MAX || smoothed.raw_p(&mut draw) > ENOUGH {
                break;
            }
        }
    }
    let curve = smoothed.curve();
    let between = |pair: &[usize]| smoothed.grid().at(valley(&curve, pair[0], pair[1]));
    let cuts = tops(&curve, least).windows(2).map(|pair| between(pair).exp() - shift).collect();
    let modes = modes(values, cuts, calls, &mut draw);
    let several = several && modes.len() > 1;
    (Modality { modes, p, p_dip, resolution_ms: None }, several)
}

/// The humps between `cuts` that hold so many calls.
fn modes(values: &[f64], mut cuts: Vec<f64>, calls: usize, draw: &mut Draw) -> Vec<Mode> {
    cuts.push(f64::INFINITY);
    let mut below = f64::NEG_INFINITY;
    let mut modes = Vec::new();
    for cut in cuts {
        let hump = Sorted::of(values.iter().copied().filter(|at| *at > below && *at <= cut));
        below = cut;
        if hump.len() >= calls.min(values.len()) {
            modes.push(mode(&hump, values.len(), draw));
        }
    }
    modes
}

/// A hump of its own calls: where a kernel density by the rule of thumb (Silverman, 1986, §3.4)
/// is highest, and how that moves when calls are drawn again.
fn mode(hump: &Sorted, of: usize, draw: &mut Draw) -> Mode {
    let width = hump.at(0.75) - hump.at(0.25);
    let spread = if width > 0.0 { hump.deviation().min(width / 1.349) } else { hump.deviation() };
    let h = 0.9 * spread * (hump.len() as f64).powf(-0.2);
    let (low, high) = (hump.at(0.005), hump.at(0.995));
    let grid = Grid::new(low, high);
    let mut bins = vec![0.0; BINS];
    for value in hump.values().iter().filter(|value| (low..=high).contains(*value)) {
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
    let share = hump.len() as f64 / of as f64;
    Mode { at_ms: top(bins), ci_ms, share, width_ms: width }
}

#[cfg(test)]
mod tests;
