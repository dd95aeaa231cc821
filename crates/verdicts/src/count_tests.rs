//! Computes intervals and p-values of counts: Poisson, shares, ratios, binomial tails, Pearson's
//! X².
//!
//! Also Benjamini and Hochberg's adjustment of many p-values. `steps.rs` and `attributes.rs` use
//! it; tests of two samples are in `attributes/two_samples.rs`.
//! Invariant: p-values are in 0..=1. Binomial tails and Poisson intervals are exact; X² follows χ²
//! where five or more are expected in every cell. Otherwise it is simulated from the null, by 4,999
//! tables at most. Beyond 2,000 events the sparse cells are pooled into one instead, for which χ²
//! is taken.
//! Failure: where a distribution cannot be made, a p-value is 1 and a bound is NaN.

use statrs::distribution::{Beta, Binomial, ChiSquared, ContinuousCDF, DiscreteCDF};
use stdx::Random;

/// Simulated tables where an expected count is below [`EXPECTED_MIN`].
const TABLES: usize = 4999;
/// Cochran's rule: from here on X² is χ² distributed, closely enough.
const EXPECTED_MIN: f64 = 5.0;
/// Tables as far out as what was seen after which p is known well enough.
const AS_FAR_MAX: usize = 200;
/// Beyond so many events sparse cells are pooled rather than simulated.
const SIMULATED_MAX: u64 = 2000;

/// Returns the exact 95 % interval of a Poisson mean of which `count` was seen (Garwood 1936).
pub(crate) fn poisson_interval(count: u64) -> [f64; 2] {
    let quantile = |freedom: f64, p: f64| {
        ChiSquared::new(freedom).map_or(f64::NAN, |distribution| distribution.inverse_cdf(p)) / 2.0
    };
    let low = if count == 0 { 0.0 } else { quantile(2.0 * count as f64, 0.025) };
    [low, quantile(2.0 * count as f64 + 2.0, 0.975)]
}

/// Returns the Poisson mean of which at least `count` is seen nine times out of ten.
pub(crate) fn poisson_mean_of(count: u64) -> f64 {
    ChiSquared::new(2.0 * count as f64)
        .map_or(f64::NAN, |distribution| distribution.inverse_cdf(0.9) / 2.0)
}

/// Returns the 95 % interval of a share of which `count` of `total` was seen: Jeffreys'. Its
/// coverage is closest to 95 % on average (Brown, Cai and DasGupta, "Interval estimation for a
/// binomial proportion", 2001).
pub(crate) fn share_interval(count: u64, total: u64) -> [f64; 2] {
    let (count, missing) = (count as f64, (total - count.min(total)) as f64);
    let distribution = Beta::new(count + 0.5, missing + 0.5);
    let quantile =
        |p: f64| distribution.as_ref().map_or(f64::NAN, |distribution| distribution.inverse_cdf(p));
    let low = if count == 0.0 { 0.0 } else { quantile(0.025) };
    [low, if missing == 0.0 { 1.0 } else { quantile(0.975) }]
}

/// Returns the exact 95 % interval of a share of which `count` of `total` was seen. It holds the
/// share at least as often (Clopper and Pearson, "The use of confidence or fiducial limits", 1934).
pub fn share_bounds(count: u64, total: u64) -> [f64; 2] {
    let (count, missing) = (count as f64, (total - count.min(total)) as f64);
    let bound = |with: f64, without: f64, p: f64| {
        Beta::new(with, without).map_or(f64::NAN, |distribution| distribution.inverse_cdf(p))
    };
    let low = if count == 0.0 { 0.0 } else { bound(count, missing + 1.0, 0.025) };
    [low, if missing == 0.0 { 1.0 } else { bound(count + 1.0, missing, 0.975) }]
}

/// Returns the 95 % interval of a share over another quantity, which is known up to a relative
/// `error`. Both distances are added in squares, on the scale of logarithms (Zou and Donner,
/// "Construction of confidence limits about effect measures", 2008).
pub(crate) fn ratio_interval(share: f64, ci: [f64; 2], over: f64, error: f64) -> [f64; 2] {
    let bound = |bound: f64| {
        let distance = (bound / share).ln().hypot(1.96 * error);
        share / over * if bound < share { -distance } else { distance }.exp()
    };
    ci.map(bound)
}

/// Returns the probability of at least `count` of `total` when each comes with `share`.
pub(crate) fn binomial_tail(count: u64, total: u64, share: f64) -> f64 {
    if count == 0 {
        return 1.0;
    }
    Binomial::new(share.clamp(0.0, 1.0), total)
        .map_or(1.0, |distribution| distribution.sf(count - 1))
        .clamp(0.0, 1.0)
}

/// Returns the p-value of Pearson's X² that counts are spread in proportion to `exposures`.
pub(crate) fn heterogeneity(counts: &[u64], exposures: &[f64], seed: u64) -> f64 {
    let (total, whole): (u64, f64) = (counts.iter().sum(), exposures.iter().sum());
    if total == 0 || counts.len() < 2 || whole <= 0.0 {
        return 1.0;
    }
    let expected: Vec<f64> =
        exposures.iter().map(|exposure| total as f64 * exposure / whole).collect();
    let is_sparse = expected.iter().any(|expected| *expected < EXPECTED_MIN);
    if is_sparse && total <= SIMULATED_MAX {
        return simulated(counts, &expected, seed);
    }
    let (counts, expected) = pooled(counts, &expected);
    let freedom = (counts.len() as f64 - 1.0).max(1.0);
    ChiSquared::new(freedom)
        .map_or(1.0, |distribution| distribution.sf(pearson(&counts, &expected)))
}

/// The p-value by tables drawn from the null, until enough of them lie as far out (Besag and
/// Clifford, "Sequential Monte Carlo p-values", 1991).
fn simulated(counts: &[u64], expected: &[f64], seed: u64) -> f64 {
    let total: u64 = counts.iter().sum();
    let seen = pearson(counts, expected) - 1e-9;
    let mut random = Random::new(seed);
    let mut sum = 0.0;
    let ends: Vec<f64> = expected
        .iter()
        .map(|expected| {
            sum += expected;
            sum
        })
        .collect();
    let mut table = vec![0; counts.len()];
    let mut as_far = 0;
    for drawn in 1..=TABLES {
        table.fill(0);
        for _ in 0..total {
            let place = random.fraction() * sum;
            let at = ends.partition_point(|end| *end <= place);
            table[at.min(counts.len() - 1)] += 1;
        }
        as_far += usize::from(pearson(&table, expected) >= seen);
        if as_far == AS_FAR_MAX {
            return as_far as f64 / drawn as f64;
        }
    }
    (as_far + 1) as f64 / (TABLES + 1) as f64
}

/// Cells of which too little is expected, as one.
fn pooled(counts: &[u64], expected: &[f64]) -> (Vec<u64>, Vec<f64>) {
    let (mut few, mut few_expected) = (0, 0.0);
    let (mut kept, mut kept_expected) = (Vec::new(), Vec::new());
    for (count, expected) in counts.iter().zip(expected) {
        if *expected < EXPECTED_MIN {
            few += count;
            few_expected += expected;
        } else {
            kept.push(*count);
            kept_expected.push(*expected);
        }
    }
    if few_expected > 0.0 {
        kept.push(few);
        kept_expected.push(few_expected);
    }
    (kept, kept_expected)
}

/// Returns p-values adjusted so that, among those below q, at most a share q is expected to be
/// false (Benjamini and Hochberg 1995).
pub(crate) fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_unstable_by(|left, right| p[*right].total_cmp(&p[*left]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (from_last, at) in order.into_iter().enumerate() {
        let rank = p.len() - from_last;
        least = least.min(p[at] * p.len() as f64 / rank as f64);
        adjusted[at] = least;
    }
    adjusted
}

fn pearson(counts: &[u64], expected: &[f64]) -> f64 {
    let term = |(count, expected): (&u64, &f64)| (*count as f64 - expected).powi(2) / expected;
    counts.iter().zip(expected).map(term).sum()
}

#[cfg(test)]
mod tests;
