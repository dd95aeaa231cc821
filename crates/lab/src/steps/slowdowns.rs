//! Slow-downs: how often a step took far longer than it usually does.
//!
//! A slow-down of step s in call i is d > m + τ, m the step's median. τ is the largest of
//! - six robust standard deviations (1.4826 times the median distance from the median);
//! - where an exponential tail through the median and the upper quartile would leave a tenth of a
//!   call in the whole series: jitter with a long tail is no slow-down;
//! - a fifth of what slowed-down calls as a whole usually lose (the same two rules find those):
//!   what is small beside that does not make calls slow.
//!
//! Invariant: a step's exposure is the time spent there, with its median in place of a slow-down.

use crate::quantiles::Sorted;

use super::Step;

/// Robust standard deviations beyond the median.
const DEVIATIONS: f64 = 6.0;
/// Calls that a long tail may leave beyond the threshold by chance, over all steps.
const BY_CHANCE: f64 = 0.1;
/// Part of a slowed-down call's loss.
const PART_OF_LOSS: f64 = 0.2;
/// The least exposure of a step, as part of all: a step that usually takes no time has little.
const EXPOSURE_MIN: f64 = 1e-4;

/// Slow-downs and exposure of each step.
#[derive(Debug, Clone, PartialEq)]
pub struct Slowdowns {
    /// Slow-downs of each step.
    pub counts: Vec<u64>,
    /// Milliseconds spent in each step but for its slow-downs, over all calls.
    pub exposures_ms: Vec<f64>,
}

impl Slowdowns {
    pub(super) fn new(steps: &[Step<'_>], sorted: &[Sorted], total_ms: &[f64]) -> Self {
        let looks = (total_ms.len() * steps.len()) as f64;
        let loss_ms = usual_loss(total_ms, looks);
        let (mut counts, mut exposures_ms) = (Vec::new(), Vec::new());
        for (step, sorted) in steps.iter().zip(sorted) {
            let usual = sorted.median().max(0.0);
            let threshold = match loss_ms {
                Some(loss) => sorted.median() + beyond(sorted, looks).max(PART_OF_LOSS * loss),
                None => f64::INFINITY,
            };
            counts.push(step.ms.iter().filter(|ms| **ms > threshold).count() as u64);
            let spent = |ms: &f64| if *ms > threshold { usual } else { ms.max(0.0) };
            exposures_ms.push(step.ms.iter().map(spent).sum::<f64>());
        }
        let least = exposures_ms.iter().sum::<f64>().max(1e-3) * EXPOSURE_MIN;
        exposures_ms.iter_mut().for_each(|exposure| *exposure = exposure.max(least));
        Self { counts, exposures_ms }
    }
}

/// The median loss of calls that were slowed down; nothing when none was.
fn usual_loss(total_ms: &[f64], looks: f64) -> Option<f64> {
    let sorted = Sorted::new(total_ms);
    let threshold = sorted.median() + beyond(&sorted, looks);
    let from = sorted.values().partition_point(|ms| *ms <= threshold);
    let slowed = &sorted.values()[from..];
    slowed.get(slowed.len() / 2).map(|ms| ms - sorted.median())
}

/// How far beyond its median a value must lie.
fn beyond(sorted: &Sorted, looks: f64) -> f64 {
    let (median, quartile) = (sorted.median(), sorted.at(0.75));
    // Coarse clocks give quartiles that are equal: jitter then is at least a step of the clock.
    let scale = ((quartile - median) / 2_f64.ln()).max(grain(sorted));
    let tail = scale * (0.5 * looks / BY_CHANCE).ln();
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
