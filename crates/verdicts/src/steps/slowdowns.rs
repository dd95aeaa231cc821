//! Counts slow-downs: how often each step took far longer than it usually does, and for how long.
//!
//! A slow-down of step s in call i is d > m + τ. Here d is the time of s in i, and m is the step's
//! median. τ is the largest of:
//! - six robust standard deviations (1.4826 times the median distance from the median);
//! - the distance beyond which an exponential tail leaves a tenth of a call, over all steps: jitter
//!   with a long tail is no slow-down. The tail goes through the median and the upper quartile;
//! - a fifth of what slowed-down calls as a whole usually lose: less does not make calls slow. The
//!   first two rules, on whole calls, find those calls; if there are none, no step has a slow-down.
//!
//! Where a gap parts slow values from the usual ones, the first two end in its middle.
//! Invariant: a step's exposure is the time spent there, with its median in place of a slow-down.
//! It is at least 1/10,000 of all exposure, so that no share is 0.
//! docs/lab/verdicts.md states the three rules. After a change count steps again
//! (`examples/calibrate.rs`, docs/lab/trust.md); `steps/tests.rs` counts false blame.
//! Never here: what the counts mean, which `steps.rs` tests.

use crate::quantiles::Sorted;

use super::columns::StepColumn;

/// Robust standard deviations beyond the median.
const DEVIATIONS: f64 = 6.0;
/// Calls that a long tail may leave beyond the threshold by chance, over all steps.
const BY_CHANCE: f64 = 0.1;
/// Part of a slowed-down call's loss.
const PART_OF_LOSS: f64 = 0.2;
/// A gap is so many times as wide as what is below it is spread. It is at least this part of the
/// median, and has so many calls above it.
const GAP: f64 = 2.5;
const GAP_PART: f64 = 0.5;
const GAP_CALLS: usize = 8;
/// The least exposure of a step, as part of all: a step that usually takes no time has little.
const EXPOSURE_MIN: f64 = 1e-4;

/// Slow-downs and exposure of each step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Slowdowns {
    /// Slow-downs of each step.
    pub counts: Vec<u64>,
    /// Milliseconds spent in each step but for its slow-downs, over all calls.
    pub exposures_ms: Vec<f64>,
    /// Variance of each of these.
    pub exposure_variances: Vec<f64>,
    /// Milliseconds beyond the median from which on each step is slowed down.
    pub beyond_ms: Vec<f64>,
    /// Sum of the milliseconds beyond the median in the slow-downs of each step.
    pub lost_ms: Vec<f64>,
    /// Sum of their squares.
    pub lost_squares: Vec<f64>,
}

impl Slowdowns {
    pub(super) fn new(steps: &[StepColumn<'_>], sorted: &[Sorted], total_ms: &[f64]) -> Self {
        let comparisons = (total_ms.len() * steps.len()) as f64;
        let loss_ms = usual_loss(total_ms, comparisons);
        let mut found = Self::default();
        for (step, sorted) in steps.iter().zip(sorted) {
            let usual = sorted.median().max(0.0);
            let beyond_ms = match loss_ms {
                Some(loss) => least_beyond(sorted, comparisons).max(PART_OF_LOSS * loss),
                None => f64::INFINITY,
            };
            let is_slow = |ms: &f64| *ms > sorted.median() + beyond_ms;
            let lost = step.ms.iter().filter(|ms| is_slow(ms)).map(|ms| ms - sorted.median());
            let lost: Vec<f64> = lost.collect();
            let spent = |ms: &f64| if is_slow(ms) { usual } else { ms.max(0.0) };
            let exposure: f64 = step.ms.iter().map(spent).sum();
            let mean = exposure / step.ms.len().max(1) as f64;
            let squares = step.ms.iter().map(|ms| (spent(ms) - mean).powi(2)).sum();
            found.exposures_ms.push(exposure);
            found.exposure_variances.push(squares);
            found.beyond_ms.push(beyond_ms);
            found.counts.push(lost.len() as u64);
            found.lost_ms.push(lost.iter().sum());
            found.lost_squares.push(lost.iter().map(|ms| ms * ms).sum());
        }
        let least = found.exposures_ms.iter().sum::<f64>().max(1e-3) * EXPOSURE_MIN;
        found.exposures_ms.iter_mut().for_each(|exposure| *exposure = exposure.max(least));
        found
    }
}

impl Slowdowns {
    /// Returns the relative error of the exposure of the step `of`, as a part of that of the steps
    /// `among`.
    pub(super) fn share_error(&self, of: usize, among: &[usize]) -> f64 {
        let whole: f64 = among.iter().map(|at| self.exposures_ms[*at]).sum();
        let share = self.exposures_ms[of] / whole;
        let variance = |at: &usize| {
            let lever = if *at == of { 1.0 - share } else { share };
            lever * lever * self.exposure_variances[*at]
        };
        among.iter().map(variance).sum::<f64>().sqrt() / self.exposures_ms[of]
    }
}

/// The median loss of calls that were slowed down; nothing when none was.
fn usual_loss(total_ms: &[f64], comparisons: f64) -> Option<f64> {
    let sorted = Sorted::new(total_ms);
    let threshold = sorted.median() + least_beyond(&sorted, comparisons);
    let from = sorted.values().partition_point(|ms| *ms <= threshold);
    let slowed = &sorted.values()[from..];
    slowed.get(slowed.len() / 2).map(|ms| ms - sorted.median())
}

/// How far beyond its median a value must lie: at most to the middle of a gap that parts slow calls
/// from the others. Many slow calls would otherwise decide the figures of [`beyond`].
fn least_beyond(sorted: &Sorted, comparisons: f64) -> f64 {
    let beyond = beyond(sorted, comparisons);
    gap(sorted).map_or(beyond, |middle| beyond.min(middle - sorted.median()))
}

/// The middle of the first gap above the median that is far wider than the values below it are
/// spread, and that parts enough calls.
fn gap(sorted: &Sorted) -> Option<f64> {
    let (median, low) = (sorted.median(), sorted.at(0.05));
    let values = &sorted.values()[sorted.len() / 2..];
    let parted = values.len().saturating_sub(GAP_CALLS);
    values.windows(2).take(parted).find_map(|pair| {
        let wide = (GAP * (pair[0] - low)).max(GAP_PART * median.abs());
        (pair[1] - pair[0] > wide.max(1e-6)).then(|| (pair[0] + pair[1]) / 2.0)
    })
}

/// How far beyond its median a value must lie, by the usual ones.
fn beyond(sorted: &Sorted, comparisons: f64) -> f64 {
    let (median, quartile) = (sorted.median(), sorted.at(0.75));
    // Coarse clocks give quartiles that are equal: jitter then is at least a step of the clock.
    let scale = ((quartile - median) / 2_f64.ln()).max(grain(sorted));
    let tail = scale * (0.5 * comparisons / BY_CHANCE).ln();
    tail.max(DEVIATIONS * sorted.spread()).max(1e-6)
}

/// The smallest distance between two different values: what a clock can tell apart, at most. The
/// slowest tenth is left aside, whose distances may be those of slow-downs.
fn grain(sorted: &Sorted) -> f64 {
    let usual = &sorted.values()[..sorted.len() * 9 / 10];
    let gaps = usual.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-9);
    gaps.reduce(f64::min).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
