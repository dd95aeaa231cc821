//! Draws what a sample would look like if it were smooth, and counts how often draws score as high.
//!
//! The null is a smoothed bootstrap on the logarithm of the times, at Silverman's critical
//! bandwidth for one mode. That is the least smoothing that leaves no second mode, hence no tooth.
//! A bandwidth in milliseconds, which one outlier widens, would wash out the body. Variance is kept
//! (Silverman, 1981).
//! `Smooth` gives a sample, or what each bin expects, from which `comb.rs` draws large samples.
//! `p_value` stops early: at three exceedances, or after 999 draws without one. `shift` and `ends`
//! serve the other files of `distribution`, those of humps too.
//! Invariant: nothing is below the floor that was given. A sample has as many values as the
//! original; draws come from the caller's stream. One more draw moves all that follow.
//! After a change count combs again (`examples/calibrate.rs`, docs/lab/trust.md); after one of
//! `shift` or `ends`, humps too.

use super::density::{BINS, Grid};
use super::spectrum::Frame;
use crate::random::Draw;
use crate::significance::COMB_DRAWS;

/// Exceedances after which a search is not significant any more and the draws end: sequential
/// Monte Carlo (Besag and Clifford, 1991).
const EXCEEDANCES: u32 = 3;
/// Draws after which a score that none has reached is significant.
const FIRST: u32 = 999;

/// A smooth distribution near a sample.
pub(super) struct Smooth {
    logs: Vec<f64>,
    shift: f64,
    floor: f64,
    mean: f64,
    shrink: f64,
    h: f64,
}

impl Smooth {
    /// Smooths `values`; `floor` is what none of them can be below (the cut of a tail).
    pub(super) fn of(values: &[f64], floor: f64) -> Self {
        let shift = shift(values);
        let logs: Vec<f64> = values.iter().map(|value| (value + shift).ln()).collect();
        let (low, high) = ends(&logs);
        let h = Grid::new(low, high).density(logs.iter().copied()).critical(1);
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        let shrink = if variance > 0.0 { (1.0 + h * h / variance).sqrt().recip() } else { 1.0 };
        Self { shift, floor: (floor + shift).ln(), mean, shrink, h, logs }
    }

    /// Draws one value.
    fn value(&self, draw: &mut Draw) -> f64 {
        let log = self.logs[draw.below(self.logs.len())] + self.h * draw.normal();
        let log = self.mean + (log - self.mean) * self.shrink;
        // Nothing is below the floor: what falls there is reflected.
        let log = if log < self.floor { 2.0 * self.floor - log } else { log };
        (log.exp() - self.shift).max(0.0)
    }

    /// Draws as many values as the sample has.
    pub(super) fn sample(&self, draw: &mut Draw) -> Vec<f64> {
        (0..self.logs.len()).map(|_| self.value(draw)).collect()
    }

    /// Returns how many calls each bin of `frame` expects; together as many as the sample has.
    pub(super) fn expected(&self, frame: &Frame) -> Vec<f64> {
        let (low, high) = ends(&self.logs);
        let grid = Grid::new(low, high);
        let curve = grid.density(self.logs.iter().copied()).smooth(self.h);
        let at = |log: f64| {
            let place = (self.mean + (log - self.mean) / self.shrink - low) / grid.step();
            if place < 0.0 || place >= (BINS - 1) as f64 {
                return 0.0;
            }
            let below = place as usize;
            curve[below] + (curve[below + 1] - curve[below]) * (place - below as f64)
        };
        let density = |bin: usize| {
            let value = frame.middle(bin) + self.shift;
            let log = value.ln();
            let reflected = if self.floor.is_finite() { at(2.0 * self.floor - log) } else { 0.0 };
            (at(log) + reflected).max(0.0) / value
        };
        let bins: Vec<f64> = (0..frame.bins()).map(density).collect();
        let scale = self.logs.len() as f64 / bins.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        bins.into_iter().map(|calls| calls * scale).collect()
    }
}

/// Counts how often `score`, called on fresh draws, reaches `observed`: the p-value. Where none of
/// [`FIRST`] draws reaches it, the draws end. Of samples without a comb 0.16 % get so far, or have
/// at most two exceedances of [`COMB_DRAWS`].
pub(super) fn p_value(observed: f64, mut score: impl FnMut() -> f64) -> f64 {
    let mut reached = 0;
    for drawn in 1..=COMB_DRAWS {
        if score() >= observed {
            reached += 1;
            if reached == EXCEEDANCES {
                return f64::from(EXCEEDANCES) / f64::from(drawn);
            }
        }
        if drawn == FIRST && reached == 0 {
            return f64::from(1 + FIRST).recip();
        }
    }
    f64::from(1 + reached) / f64::from(1 + COMB_DRAWS)
}

/// Returns the least p-value that the draws can give.
pub(super) fn p_least() -> f64 {
    f64::from(1 + FIRST).recip()
}

/// What is added before taking logarithms, so that 0 has one and the finest times do not stretch.
pub(super) fn shift(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    (mean * 0.01).max(f64::MIN_POSITIVE)
}

/// The least and the greatest of `values`.
pub(super) fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    })
}

#[cfg(test)]
mod tests;
