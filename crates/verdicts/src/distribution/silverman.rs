//! Tests whether a sample has more than k modes (Silverman, "Using kernel density estimates to
//! investigate multimodality", 1981).
//!
//! The critical bandwidth is the least smoothing that leaves k modes. When smooth samples of k
//! modes rarely need as much, there are more. Only humps that hold calls are counted: in a tail
//! each straggler is a bump, and would decide the bandwidth. Hall and York keep tails away by an
//! interval instead ("On the calibration of Silverman's test", 2001). A mode of few calls would
//! fall out of it.
//! `calibrated` turns the raw p of one mode into that which is compared; for more modes raw
//! p-values are used. `tops` and `valley` serve `modes.rs`.
//! Invariant: sample and draws are counted alike, on a grid that has room for the draws' tails. At
//! most [`MODES_DRAWS`] samples are drawn.
//! `CALIBRATED`, `EXCEEDANCES` and `ROOM` belong together; they were chosen for the families of
//! `calibration/modes.rs`. After a change count humps again (`examples/calibrate.rs`,
//! docs/lab/trust.md).

use super::density::{BINS, Density, Grid, peaks};
use super::null::ends;
use crate::quantiles::Sorted;
use crate::random::{Draw, Poisson};
use crate::significance::MODES_DRAWS;

/// Exceedances after which the draws end: at 13 % of all draws the calibrated p-value is 5 %, and
/// more of it is of no interest.
const EXCEEDANCES: u32 = 65;
/// Raw and calibrated p-values of one mode, with straight lines between. From 5 % on they are Hall
/// and York's. Below they are what the least favourable families of `calibration::modes` need
/// (Pareto and Weibull; of lognormal samples half a percent are below 0.03).
const CALIBRATED: [(f64, f64); 5] =
    [(0.0, 0.0), (0.01, 0.005), (0.05, 0.01), (0.13, 0.05), (1.0, 1.0)];
/// Bandwidths of room beyond the least and the greatest call. Without any, draws have no tail
/// beyond the sample's, and 11 % of lognormal samples reach a raw p of 0.025 instead of 0.2 %.
const ROOM: f64 = 3.0;
/// Steps in which the critical bandwidth is looked for from above.
const STRIDE: f64 = 1.1;

/// A sample, smoothed until `k` humps hold enough calls.
pub(super) struct Smoothed {
    density: Density,
    k: usize,
    /// Calls that a hump holds.
    least: f64,
    h: f64,
    deviation: f64,
}

impl Smoothed {
    /// Smooths `sorted` values until at most `k` humps hold `least` of them.
    pub(super) fn of(sorted: &Sorted, k: usize, least: f64) -> Self {
        let values = sorted.values();
        let (low, high) = ends(values);
        let on = |room: f64| {
            let density = Grid::new(low - room, high + room).density(values.iter().copied());
            let h = critical(&density, k, least);
            Self { density, k, least, h, deviation: sorted.deviation() }
        };
        on(ROOM * on(0.0).h)
    }

    /// Returns the number of values per bin of [`Self::grid`].
    pub(super) fn curve(&self) -> Vec<f64> {
        self.density.smooth(self.h)
    }

    /// Returns the grid that the curve stands on.
    pub(super) fn grid(&self) -> &Grid {
        self.density.grid()
    }

    /// Returns the part of smooth samples with `k` humps that need as much smoothing.
    pub(super) fn raw_p(&self, draw: &mut Draw) -> f64 {
        let curve = self.curve();
        // Draws keep the variance when shrunk by this; instead, what they are smoothed with grows.
        let ratio = self.h / self.deviation.max(f64::MIN_POSITIVE);
        let kernel = self.grid().kernel(self.h * (1.0 + ratio.powi(2)).sqrt());
        let expected = Poisson::each(curve.iter().map(|mean| mean.max(0.0)));
        let mut reached = 0;
        for drawn in 1..=MODES_DRAWS {
            let bins = expected.iter().map(|calls| draw.poisson(calls)).collect();
            let drew = self.grid().binned(bins).smoothed(&kernel);
            reached += u32::from(tops(&drew, self.least).len() > self.k);
            if reached == EXCEEDANCES {
                return f64::from(reached) / f64::from(drawn);
            }
        }
        f64::from(1 + reached) / f64::from(1 + MODES_DRAWS)
    }
}

/// Returns the p-value of one hump that belongs to a raw one.
pub(super) fn calibrated(raw: f64) -> f64 {
    let after = CALIBRATED.partition_point(|(from, _)| *from < raw).clamp(1, CALIBRATED.len() - 1);
    let ((from, low), (to, high)) = (CALIBRATED[after - 1], CALIBRATED[after]);
    low + (high - low) * (raw - from) / (to - from)
}

/// Returns the bins of the tops of those humps of a curve that hold `least` calls between the
/// valleys around them.
pub(super) fn tops(curve: &[f64], least: f64) -> Vec<usize> {
    let peaks = peaks(curve);
    let mut from = 0;
    let mut tops = Vec::new();
    for (place, top) in peaks.iter().enumerate() {
        let to = peaks.get(place + 1).map_or(curve.len(), |next| valley(curve, *top, *next));
        if curve[from..to].iter().sum::<f64>() >= least {
            tops.push(*top);
        }
        from = to;
    }
    tops
}

/// Returns the lowest bin between two tops.
pub(super) fn valley(curve: &[f64], left: usize, right: usize) -> usize {
    let lowest = (left..right).min_by(|one, other| curve[*one].total_cmp(&curve[*other]));
    lowest.unwrap_or(left)
}

/// The bandwidth below which more than `k` humps hold `least` calls, to a thousandth of itself.
/// From above: with less smoothing, humps fall into crumbs that hold too few.
fn critical(density: &Density, k: usize, least: f64) -> f64 {
    let enough = |h: f64| tops(&density.smooth(h), least).len() <= k;
    let step = density.grid().step();
    let mut high = step * BINS as f64;
    while enough(high / STRIDE) {
        high /= STRIDE;
        if high < step / 4.0 {
            return high;
        }
    }
    let mut low = high / STRIDE;
    while high / low > 1.001 {
        let middle = (low * high).sqrt();
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests;
