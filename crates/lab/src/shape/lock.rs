//! Whether calls end in step with a clock, whenever they began.
//!
//! The statistic is Rayleigh's on the moments of the ends: S = 2 |Σ z|² / Σ |z|², where z is the
//! sum of the phases of a bout: calls close together in time share what they have in common, and
//! count once. Under no lock S is twice an exponential number.
//! A probe that sends at fixed intervals is in step by itself, and so is a client that sends when
//! the last answer came; so nothing is said where the calls *began* in step with the same period.
//! Invariant: needs the times of the calls; says nothing of fewer than [`BOUTS_MIN`] bouts.

use std::f64::consts::TAU;

use super::fit;
use super::resolution::Resolution;
use super::spectrum::{Bounds, Frame};
use super::teeth::Points;
use super::timers;
use crate::quantiles::Sorted;
use crate::series::Series;
use crate::verdict::Lock;

/// Bouts, at least, of which something can be said.
const BOUTS_MIN: usize = 12;
/// p-value at which calls are in step with a clock.
const LOCKED_MAX: f64 = 0.001;
/// p-value above which the beginnings are not in step.
const FREE_MIN: f64 = 0.01;
/// Periods looked at, as the number of them in the whole time.
const PERIODS: f64 = 16_384.0;
/// A period is at least so many steps of the clock.
const STEPS_MIN: f64 = 8.0;

/// Returns whether the calls end in step with a clock of period `ms`; nothing when their times are
/// not known, are too few, or began in step themselves.
pub fn in_step(series: &Series, ms: f64) -> Option<bool> {
    let ends = series.ended_ms();
    if ends.is_empty() || rayleigh(&series.began_ms, ms)? < FREE_MIN {
        return None;
    }
    Some(rayleigh(&ends, ms)? <= LOCKED_MAX)
}

/// Searches for a clock that the calls end with.
pub fn search(series: &Series) -> Option<Lock> {
    let ends = Sorted::of(series.ended_ms());
    let (low, high) = (*ends.values().first()?, *ends.values().last()?);
    let step = Resolution::of(ends.values()).at(high - low).max(resolution(&series.began_ms));
    let width = high - low;
    let cycles = (width / (STEPS_MIN * step).max(f64::MIN_POSITIVE)).min(PERIODS);
    if ends.len() < 2 * BOUTS_MIN || cycles < BOUTS_MIN as f64 {
        return None;
    }
    let frame = Frame::wide(&Bounds { low, width, cycles });
    let candidates = frame.candidates(&frame.histogram(ends.values()));
    let best = candidates
        .into_iter()
        .filter(|period| *period <= width / BOUTS_MIN as f64)
        .filter_map(|period| Some((rayleigh(ends.values(), period)?, period)))
        .filter(|(p, _)| p * 5.0 * cycles <= LOCKED_MAX)
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    let (p, period) = (best.0 * 5.0 * cycles, best.1);
    let points = Points { at: ends.values(), calls: &[], width: 0.0, tooth: 0.0 };
    let comb = points.folded(period)?;
    let line = fit::line(ends.values(), &comb)?;
    if rayleigh(&series.began_ms, line.quantum)? < FREE_MIN {
        return None;
    }
    let (calls, within) = comb
        .cells
        .iter()
        .fold((0.0, 0.0), |(calls, within), cell| (calls + cell.calls, within + cell.within));
    Some(Lock {
        period_ms: line.quantum,
        ci_ms: [line.quantum - line.margin, line.quantum + line.margin],
        share: ((within / calls - comb.window) / (1.0 - comb.window)).clamp(0.0, 1.0),
        p,
        nearest: timers::nearest(line.quantum),
    })
}

fn resolution(times: &[f64]) -> f64 {
    let sorted = Sorted::new(times);
    let Some(last) = sorted.values().last() else { return 0.0 };
    Resolution::of(sorted.values()).at(*last)
}

/// p-value of Rayleigh's test of the moments `times` against the period `ms`, by bouts.
fn rayleigh(times: &[f64], ms: f64) -> Option<f64> {
    let sorted = Sorted::new(times);
    let (mut sum, mut squares, mut bouts) = ([0.0; 2], 0.0, 0);
    let mut bout = [0.0; 2];
    let (mut first, mut last) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut close = |bout: [f64; 2]| {
        let square = bout[0] * bout[0] + bout[1] * bout[1];
        if square > 0.0 {
            sum = [sum[0] + bout[0], sum[1] + bout[1]];
            squares += square;
            bouts += 1;
        }
    };
    for time in sorted.values() {
        // A bout ends at a gap of a quarter of the period, and after four periods.
        if time - last > ms / 4.0 || time - first > 4.0 * ms {
            close(bout);
            (bout, first) = ([0.0; 2], *time);
        }
        last = *time;
        let (sin, cos) = ((time / ms).fract() * TAU).sin_cos();
        bout = [bout[0] + cos, bout[1] + sin];
    }
    close(bout);
    let s = (sum[0] * sum[0] + sum[1] * sum[1]) / squares.max(f64::MIN_POSITIVE);
    (bouts >= BOUTS_MIN).then(|| (-s).exp())
}

#[cfg(test)]
mod tests;
