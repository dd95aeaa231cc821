//! What each step adds to slow calls: its mean in slow calls less its mean in typical ones.
//!
//! Invariant: means are linear, so the steps' excesses add up to the whole's.

use stdx::Random;

use crate::split::Split;

use super::Step;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 999;
/// With more calls in both sets the interval is that of the normal distribution, which the
/// bootstrap tends to.
const BOOTSTRAP_MAX: usize = 500;

/// Milliseconds by which a step is longer in slow calls than in typical ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    pub ms: f64,
    pub ci_ms: [f64; 2],
}

/// The excess of each step, with 95 % intervals; zero when there is no slow or no typical call.
pub(super) fn excesses(steps: &[Step<'_>], split: &Split, seed: u64) -> Vec<Excess> {
    if split.slow.is_empty() || split.typical.is_empty() {
        return vec![Excess { ms: 0.0, ci_ms: [0.0; 2] }; steps.len()];
    }
    let excess = |step: &Step<'_>| {
        let of = |rows: &[u32]| rows.iter().map(|row| step.ms[*row as usize]).collect::<Vec<_>>();
        let (slow, typical) = (of(&split.slow), of(&split.typical));
        let ms = mean(&slow) - mean(&typical);
        let is_small = slow.len() <= BOOTSTRAP_MAX && typical.len() <= BOOTSTRAP_MAX;
        let ci_ms = if is_small {
            resampled(&slow, &typical, &mut Random::new(seed))
        } else {
            let error = (variance(&slow) / slow.len() as f64
                + variance(&typical) / typical.len() as f64)
                .sqrt();
            [ms - 1.96 * error, ms + 1.96 * error]
        };
        Excess { ms, ci_ms }
    };
    steps.iter().map(excess).collect()
}

/// The percentile bootstrap (Efron 1979). Every step draws the same calls, from the same seed.
fn resampled(slow: &[f64], typical: &[f64], random: &mut Random) -> [f64; 2] {
    let mut draw = |values: &[f64]| {
        let last = values.len() as u64 - 1;
        let sum: f64 = values.iter().map(|_| values[random.up_to(last) as usize]).sum();
        sum / values.len() as f64
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| draw(slow) - draw(typical)).collect();
    means.sort_unstable_by(f64::total_cmp);
    // Of 999 the 25th and the 975th leave 2.5 % on either side.
    [means[24], means[974]]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0).max(1.0)
}
