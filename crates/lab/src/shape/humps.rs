//! How many humps, and where: Silverman's test and Hartigans' dip, on the logarithm of the times.
//!
//! Silverman's critical bandwidth is the least smoothing that leaves k humps; when smooth samples
//! of k humps rarely need as much, there are more (Silverman, "Using kernel density estimates to
//! investigate multimodality", 1981). Its p-value for one hump is too large, and is calibrated as
//! Hall and York found ("On the calibration of Silverman's test", 2001).
//! Invariant: "multimodal" is a false alarm in one of a hundred samples with one hump at most:
//! either test must reach half a percent.

use super::density::{BINS, Density, Grid, peaks};
use super::dip::{dip, dip_p};
use super::null::{ends, shift};
use crate::quantiles::Sorted;
use crate::random::Draw;
use crate::verdict::{Modality, Mode};

/// What either test must reach.
pub const P_MAX: f64 = 0.005;
/// Draws for a p-value at most, and after how many exceedances they end: at 13 % of them the
/// calibrated p-value is 5 %, and more of it is of no interest.
pub const DRAWS: u32 = 499;
const EXCEEDANCES: u32 = 65;
/// Raw p-value above which k humps are enough.
const ENOUGH: f64 = 0.05;
const HUMPS_MAX: usize = 8;
/// Calls that make a hump.
const HUMP_CALLS: usize = 5;
/// Draws for an interval.
const BOOTSTRAPS: usize = 199;
/// Raw and calibrated p-values: Hall and York's, with straight lines between.
const CALIBRATED: [(f64, f64); 4] = [(0.0, 0.0), (0.05, 0.01), (0.13, 0.05), (1.0, 1.0)];

/// Returns the humps of `values`, and whether they are several.
pub fn humps(values: &[f64], seed: u64) -> (Modality, bool) {
    let mut draw = Draw::new(seed, 3);
    let shift = shift(values);
    let sorted = Sorted::of(values.iter().map(|value| (value + shift).ln()));
    let logs = sorted.values();
    let (low, high) = ends(logs);
    let density = Grid::new(low, high).density(logs.iter().copied());
    let deviation = sorted.deviation();
    let p = calibrated(raw_p(&density, 1, deviation, &mut draw));
    let p_dip = dip_p(dip(logs), logs.len());
    let several = p <= P_MAX || p_dip <= P_MAX;
    let mut k = 1;
    if several {
        k = 2;
        while k < HUMPS_MAX && raw_p(&density, k, deviation, &mut draw) <= ENOUGH {
            k += 1;
        }
    }
    let modes = modes(&density, k, values, shift, &mut draw);
    let several = several && modes.len() > 1;
    (Modality { modes, p, p_dip, resolution_ms: None }, several)
}

/// The part of smooth samples with `k` humps that need as much smoothing.
fn raw_p(density: &Density, k: usize, deviation: f64, draw: &mut Draw) -> f64 {
    let h = density.critical(k);
    let curve = density.smooth(h);
    // Draws keep the variance when shrunk by this; instead, what they are smoothed with grows.
    let h = h * (1.0 + (h / deviation.max(f64::MIN_POSITIVE)).powi(2)).sqrt();
    let mut reached = 0;
    for drawn in 1..=DRAWS {
        let bins = curve.iter().map(|mean| draw.poisson(mean.max(0.0))).collect();
        reached += u32::from(density.grid().binned(bins).modes(h) > k);
        if reached == EXCEEDANCES {
            return f64::from(reached) / f64::from(drawn);
        }
    }
    f64::from(1 + reached) / f64::from(1 + DRAWS)
}

fn calibrated(raw: f64) -> f64 {
    let after = CALIBRATED.partition_point(|(from, _)| *from < raw).clamp(1, CALIBRATED.len() - 1);
    let ((from, low), (to, high)) = (CALIBRATED[after - 1], CALIBRATED[after]);
    low + (high - low) * (raw - from) / (to - from)
}

/// The humps that `k` smoothing leaves, each with the calls between the valleys around it.
fn modes(density: &Density, k: usize, values: &[f64], shift: f64, draw: &mut Draw) -> Vec<Mode> {
    let curve = density.smooth(density.critical(k));
    let tops = peaks(&curve);
    let valleys = tops.windows(2).map(|pair| {
        let valley = (pair[0]..pair[1]).min_by(|one, other| curve[*one].total_cmp(&curve[*other]));
        density.grid().at(valley.unwrap_or(pair[0])).exp() - shift
    });
    let mut cuts: Vec<f64> = valleys.collect();
    cuts.push(f64::INFINITY);
    let mut below = f64::NEG_INFINITY;
    let mut modes = Vec::new();
    for cut in cuts {
        let hump = Sorted::of(values.iter().copied().filter(|at| *at > below && *at <= cut));
        below = cut;
        if hump.len() >= HUMP_CALLS.min(values.len()) {
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
    let top = |bins: Vec<f64>| {
        let curve = grid.binned(bins).smooth(h);
        let top = (0..BINS).max_by(|one, other| curve[*one].total_cmp(&curve[*other]));
        grid.at(top.unwrap_or(0))
    };
    let moved = (0..BOOTSTRAPS).map(|_| top(bins.iter().map(|mean| draw.poisson(*mean)).collect()));
    let moved = Sorted::of(moved.collect::<Vec<f64>>());
    let ci_ms = [moved.at(0.025), moved.at(0.975)];
    let share = hump.len() as f64 / of as f64;
    Mode { at_ms: top(bins), ci_ms, share, width_ms: width }
}

#[cfg(test)]
mod tests;
