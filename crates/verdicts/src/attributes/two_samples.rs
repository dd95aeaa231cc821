//! Compares two samples: shares by Fisher's test and Newcombe's interval, numbers by their
//! distance.
//!
//! The distance is Kolmogorov and Smirnov's, with the threshold at which it is largest.
//! Invariant: p-values are in 0..=1. Fisher's is exact, the smaller tail doubled. That of the
//! distance is Kolmogorov's law with Stephens' correction: an approximation for small samples, too
//! large with ties.
//! Failure: `None` where a sample of numbers is empty or no value tells them apart. Both must
//! ascend, which the caller, `attributes.rs`, sees to.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::factorial::ln_binomial;

/// Terms of a tail below this part of its first are left out.
const NEGLIGIBLE: f64 = 1e-17;

/// Where two samples of numbers differ most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Distance {
    /// The number at which they do.
    pub threshold: f64,
    /// Whether the slow sample has more above it.
    pub is_above: bool,
    /// p-value of no difference.
    pub p: f64,
}

/// Returns the two-sided p-value that a property is as frequent in both sets: `with` have it, of
/// `all` (Fisher 1934; the smaller tail doubled).
pub(super) fn fisher(with: [u64; 2], all: [u64; 2]) -> f64 {
    let (total, having) = (all[0] + all[1], with[0] + with[1]);
    let (least, most) = (having.saturating_sub(all[1]), having.min(all[0]));
    let ln_at = |count: u64| {
        ln_binomial(having, count) + ln_binomial(total - having, all[0] - count)
            - ln_binomial(total, all[0])
    };
    let tail = |counts: &mut dyn Iterator<Item = u64>| {
        let mut sum = 0.0;
        for count in counts {
            let term = ln_at(count).exp();
            sum += term;
            if term < sum * NEGLIGIBLE {
                break;
            }
        }
        sum
    };
    let up = tail(&mut (with[0]..=most));
    let down = tail(&mut (least..=with[0]).rev());
    (2.0 * up.min(down)).min(1.0)
}

/// Returns the 95 % interval of the difference of two shares (Newcombe 1998, method 10: from
/// Wilson's intervals of both).
pub(super) fn difference_interval(with: [u64; 2], all: [u64; 2]) -> [f64; 2] {
    let share = [0, 1].map(|side| with[side] as f64 / all[side].max(1) as f64);
    let bounds = [0, 1].map(|side| wilson(share[side], all[side] as f64));
    let difference = share[0] - share[1];
    let below = (share[0] - bounds[0][0]).hypot(bounds[1][1] - share[1]);
    let above = (bounds[0][1] - share[0]).hypot(share[1] - bounds[1][0]);
    [difference - below, difference + above]
}

fn wilson(share: f64, count: f64) -> [f64; 2] {
    let z = Normal::standard().inverse_cdf(0.975);
    let (square, count) = (z * z, count.max(1.0));
    let middle = share + square / (2.0 * count);
    let half = z * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    let scale = 1.0 + square / count;
    [((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)]
}

/// Compares two ascending samples; nothing when one is empty or no value tells them apart. Ties
/// make the p-value too large, never too small.
pub(super) fn kolmogorov_smirnov(slow: &[f64], typical: &[f64]) -> Option<Distance> {
    let (m, n) = (slow.len() as f64, typical.len() as f64);
    if slow.is_empty() || typical.is_empty() {
        return None;
    }
    let (mut i, mut j) = (0, 0);
    let mut largest: Option<(f64, f64)> = None;
    while i < slow.len() && j < typical.len() {
        let value = slow[i].min(typical[j]);
        i += slow[i..].iter().take_while(|other| **other <= value).count();
        j += typical[j..].iter().take_while(|other| **other <= value).count();
        // More of the typical at or under it: the slow lie above.
        let distance = j as f64 / n - i as f64 / m;
        if distance != 0.0 && largest.is_none_or(|(most, _)| distance.abs() > most.abs()) {
            largest = Some((distance, value));
        }
    }
    let (distance, threshold) = largest?;
    let root = (m * n / (m + n)).sqrt();
    // Stephens' correction of the asymptotic law for small samples (1970).
    let lambda = (root + 0.12 + 0.11 / root) * distance.abs();
    Some(Distance { threshold, is_above: distance > 0.0, p: kolmogorov_tail(lambda) })
}

fn kolmogorov_tail(lambda: f64) -> f64 {
    if lambda < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * (f64::from(k) * lambda).powi(2)).exp()
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
