//! Computes how two columns of numbers rise together: Spearman's rank correlation, with its
//! interval.
//!
//! The 95 % interval is Fisher's, with the standard error of Bonett and Wright ("Sample size
//! requirements for estimating Pearson, Kendall and Spearman correlations", 2000). Tied values
//! share the mean of their ranks. A correlation of 1 has an interval, too.
//! Invariant: pairs in which a number is missing or infinite are left out. The interval lies within
//! -1..=1 and holds the estimate.
//! Failure: `None` with fewer than [`PAIRS_MIN`] pairs, or where one column does not vary.
//! Refuses: a cause. Two columns may rise together because a third drives both.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// Pairs without which nothing is said.
const PAIRS_MIN: usize = 5;

/// How two columns rise together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankCorrelation {
    /// Spearman's rho: 1 where both rise together, -1 where one falls as the other rises.
    pub rho: f64,
    /// 95 % interval of that.
    pub ci: [f64; 2],
    /// Pairs of numbers.
    pub pairs: u64,
}

/// Compares two columns, pair by pair.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<RankCorrelation> {
    let finite = pairs.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
    let (x, y): (Vec<f64>, Vec<f64>) = finite.unzip();
    if x.len() < PAIRS_MIN {
        return None;
    }
    let (x, y) = (ranks(&x), ranks(&y));
    let middle = (x.len() as f64 + 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    if scale <= 0.0 {
        return None;
    }
    let rho = (product(&x, &y) / scale).clamp(-1.0, 1.0);
    // Ranks that agree wholly are half a step from those that do not: few pairs prove no more.
    let calls = x.len() as f64;
    let nearest = 1.0 - 6.0 / (calls * (calls * calls - 1.0));
    let inside = rho.clamp(-nearest, nearest);
    let error = ((1.0 + inside * inside / 2.0) / (calls - 3.0)).sqrt();
    let margin = Normal::standard().inverse_cdf(0.975) * error;
    let [low, high] = [-margin, margin].map(|margin| (inside.atanh() + margin).tanh());
    let ci = [low.min(rho), high.max(rho)];
    Some(RankCorrelation { rho, ci, pairs: x.len() as u64 })
}

/// The rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut ranked = 0.0;
    for tied in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let rank = ranked + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|at| ranks[*at] = rank);
        ranked += tied.len() as f64;
    }
    ranks
}

#[cfg(test)]
mod tests;
