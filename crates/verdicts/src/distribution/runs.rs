//! Takes runs of like neighbours for one call each: waiters of one fetch, a burst that met one
//! pause.
//!
//! Eight calls that share a fetch end together, and are one piece of evidence, not eight. A run is
//! replaced by its median.
//! Invariant: values are left as they are unless neighbours correlate by 3.5 standard errors or
//! more. Calls in an order without memory do so once in some thousands of samples. Values must be
//! in the order of the calls.
//!
//! Only linear combs are searched for in what is left. After a change count combs again
//! (`examples/calibrate.rs`, docs/lab/trust.md). Bursts that a probe made itself are thinned in
//! `bursts.rs`, by their number.

use crate::quantiles::Sorted;

/// Standard errors of the rank correlation of neighbours above which the order has a memory.
const MEMORY_MIN: f64 = 3.5;
/// Neighbours are alike within this many times their median difference, and half the median
/// difference of calls that are far apart.
const ALIKE: [f64; 2] = [4.0, 0.5];

/// Returns one value for each run of like neighbours, its median.
pub(super) fn collapsed(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    if n < 3 || correlation(values) < MEMORY_MIN / (n as f64).sqrt() {
        return values.to_vec();
    }
    let apart = |by: usize| {
        Sorted::of((0..n).map(|place| (values[place] - values[(place + by) % n]).abs())).median()
    };
    let alike = (ALIKE[0] * apart(1)).min(ALIKE[1] * apart(n / 2));
    let runs = values.chunk_by(|one, next| (one - next).abs() <= alike);
    runs.map(|run| Sorted::new(run).median()).collect()
}

/// Spearman's rank correlation of each call with the next.
fn correlation(values: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = rank as f64;
    }
    let middle = (values.len() - 1) as f64 / 2.0;
    let product: f64 = ranks.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    let squares: f64 = ranks.iter().map(|rank| (rank - middle).powi(2)).sum();
    product / squares.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests;
