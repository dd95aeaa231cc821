//! Computes p-values of the two rank tests, and the ranks that bound 95 % intervals of a shift.
//!
//! p-values are exact up to 120 pairs (signed-rank) or 60 calls in all (rank-sum), ties included.
//! Beyond they are normal, with corrections for ties and for continuity. Callers pass values; ranks
//! are doubled inside, so that the mean rank of tied values is a whole number. Zeros are ranked and
//! then drop out (Pratt).
//! `signed_cut` and `sum_cut` depend on sizes only: they count ranks 1 to n, as if there were no
//! ties.
//! Invariant: p-values are two-sided and at most 1. A cut is at least 1; it is `None` where so few
//! values have no 95 % interval.
//!
//! The shift itself is found in `sums.rs`.

use statrs::distribution::{ContinuousCDF, Normal};

/// Above so many pairs, the normal approximation is good to three digits of p.
const EXACT_PAIRS: usize = 120;
/// Above so many calls on both sides together, likewise.
const EXACT_CALLS: usize = 60;
/// Half of what a 95 % interval leaves out.
const TAIL: f64 = 0.025;

/// The two-sided p-value of Wilcoxon's signed-rank test on ascending differences. Zeros take part
/// in the ranking and then drop out (Pratt, 1959).
pub(super) fn signed_p(differences: &[f64]) -> f64 {
    let mut order: Vec<f64> = differences.to_vec();
    order.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&order, |a, b| a.abs() == b.abs());
    let signed: Vec<(f64, u64)> =
        order.into_iter().zip(ranks).filter(|(value, _)| *value != 0.0).collect();
    let positive: u64 = signed.iter().filter(|(value, _)| *value > 0.0).map(|(_, rank)| rank).sum();
    let ranks: Vec<u64> = signed.iter().map(|(_, rank)| *rank).collect();
    if ranks.len() <= EXACT_PAIRS {
        return two_sided(&signed_counts(&ranks), positive);
    }
    let all: u64 = ranks.iter().sum();
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum();
    // Doubled ranks move in steps of two; half a step is the correction for continuity.
    normal_p(positive as f64 - all as f64 / 2.0, (squares / 4.0).sqrt(), 1.0)
}

/// The two-sided p-value of the rank-sum test on two ascending samples.
pub(super) fn sum_p(a: &[f64], b: &[f64]) -> f64 {
    let mut both: Vec<(f64, bool)> = a.iter().map(|value| (*value, false)).collect();
    both.extend(b.iter().map(|value| (*value, true)));
    both.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let ranks = doubled_ranks(&both, |one, other| one.0 == other.0);
    let of_b: u64 = both.iter().zip(&ranks).filter(|(of, _)| of.1).map(|(_, rank)| rank).sum();
    if both.len() <= EXACT_CALLS {
        return two_sided(&sum_counts(&ranks, b.len()), of_b);
    }
    let (n, n_a, n_b) = (both.len() as f64, a.len() as f64, b.len() as f64);
    let mean = ranks.iter().sum::<u64>() as f64 / n;
    let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
    let deviation = (squares / (n - 1.0) * n_a * n_b / n).sqrt();
    normal_p(of_b as f64 - mean * n_b, deviation, 1.0)
}

/// The rank (from 1) of the Walsh average that bounds the 95 % interval of `n` pairs.
pub(super) fn signed_cut(n: usize) -> Option<u64> {
    if n <= EXACT_PAIRS {
        let ranks: Vec<u64> = (1..=n as u64).collect();
        return exact_cut(&signed_counts(&ranks));
    }
    let n = n as f64;
    normal_cut(n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

/// The rank (from 1) of the difference that bounds the 95 % interval of samples of `a` and `b`.
pub(super) fn sum_cut(a: usize, b: usize) -> Option<u64> {
    if a + b <= EXACT_CALLS {
        let ranks: Vec<u64> = (1..=(a + b) as u64).collect();
        let least = b * (b + 1) / 2;
        return exact_cut(&sum_counts(&ranks, b)[least..]);
    }
    let (a, b) = (a as f64, b as f64);
    normal_cut(a * b / 2.0, (a * b * (a + b + 1.0) / 12.0).sqrt())
}

/// Twice the rank of each of the ordered `values`, tied ones sharing their mean.
fn doubled_ranks<T>(values: &[T], tied: impl Fn(&T, &T) -> bool) -> Vec<u64> {
    let mut ranks = Vec::with_capacity(values.len());
    while ranks.len() < values.len() {
        let first = ranks.len();
        let many = values[first..].iter().take_while(|value| tied(value, &values[first])).count();
        // `max`: a value that is not tied with itself cannot come, and must not hang.
        let many = many.max(1);
        ranks.resize(first + many, (2 * first + many + 1) as u64);
    }
    ranks
}

/// The share of all choices of signs in which the positive ranks add up to each sum.
fn signed_counts(ranks: &[u64]) -> Vec<f64> {
    let mut shares = vec![0.0; ranks.iter().sum::<u64>() as usize + 1];
    shares[0] = 1.0;
    for rank in ranks {
        let rank = *rank as usize;
        for sum in (0..shares.len()).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    shares
}

/// The share of all choices of `chosen` ranks that add up to each sum.
fn sum_counts(ranks: &[u64], chosen: usize) -> Vec<f64> {
    let sums = ranks.iter().sum::<u64>() as usize + 1;
    // ways[c][s]: choices of c ranks with sum s, as a share of all choices of c.
    let mut ways = vec![vec![0.0; sums]; chosen + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        let rank = *rank as usize;
        for count in (1..=chosen.min(seen + 1)).rev() {
            // Of all choices of `count` among seen + 1, this share has the new one.
            let with = count as f64 / (seen + 1) as f64;
            let (fewer, more) = ways.split_at_mut(count);
            let (fewer, more) = (&fewer[count - 1], &mut more[0]);
            for sum in (0..sums).rev() {
                let before = if sum >= rank { fewer[sum - rank] } else { 0.0 };
                more[sum] = more[sum] * (1.0 - with) + before * with;
            }
        }
    }
    ways.swap_remove(chosen)
}

/// Twice the smaller tail at `at`, at most 1.
fn two_sided(shares: &[f64], at: u64) -> f64 {
    let at = at as usize;
    let below: f64 = shares[..=at].iter().sum();
    let above: f64 = shares[at..].iter().sum();
    (2.0 * below.min(above)).min(1.0)
}

/// The rank one above the largest sum whose lower tail is at most 2.5 %.
fn exact_cut(shares: &[f64]) -> Option<u64> {
    let mut tail = 0.0;
    let within = shares.iter().take_while(|share| {
        tail += **share;
        tail <= TAIL
    });
    match within.count() {
        0 => None,
        outside => Some(outside as u64),
    }
}

fn normal_cut(mean: f64, deviation: f64) -> Option<u64> {
    Some(((mean - 0.5 - 1.959_964 * deviation).floor() as u64).max(1))
}

fn normal_p(off: f64, deviation: f64, correction: f64) -> f64 {
    if deviation <= 0.0 {
        return 1.0;
    }
    let z = (off.abs() - correction).max(0.0) / deviation;
    (2.0 * Normal::standard().cdf(-z)).min(1.0)
}
