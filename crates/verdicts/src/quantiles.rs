//! Sorts a sample, and computes its quantiles, each with a 95 % interval that assumes no
//! distribution.
//!
//! Also its mean, standard deviation and robust spread. `ranks` finds the order statistics that
//! bound an interval; calls are taken as independent.
//! Invariant: the values of a [`Sorted`] ascend, are finite, and never change. Other values are
//! left out without a count.
//! Failure: of no value every figure is 0. A bound that the sample cannot give is `None`: the p99.9
//! of fifty calls has no upper one.
//!
//! Reports of `lab` and most of this crate stand on it. A changed formula moves every verdict, so
//! all tables of docs/lab/trust.md are counted again. The fields of [`Quantile`] are JSON that
//! users parse.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// A sample in ascending order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sorted(Vec<f64>);

/// A quantile of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// Which: 0.5 is the median.
    pub q: f64,
    /// Its estimate.
    pub ms: f64,
    /// Bounds of the 95 % interval, each absent where the sample is too small for it.
    pub ci_ms: [Option<f64>; 2],
}

impl Sorted {
    /// Returns `values` in order, without those that are not finite.
    pub fn new(values: &[f64]) -> Self {
        Self::of(values.iter().copied())
    }

    /// Returns the finite ones of `values` in order.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the values, ascending.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mean; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Returns the standard deviation, with n − 1; 0 below two values.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / self.0.len().saturating_sub(1).max(1) as f64).sqrt()
    }

    /// Returns the quantile `q` (0..=1), linear between the two nearest values; 0 of nothing. That
    /// is type 7 of Hyndman and Fan ("Sample Quantiles in Statistical Packages", 1996).
    pub fn at(&self, q: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        let place = q.clamp(0.0, 1.0) * last as f64;
        let below = place as usize;
        let (low, high) = (self.0[below], self.0[(below + 1).min(last)]);
        low + (high - low) * (place - below as f64)
    }

    /// Returns the median; 0 of nothing.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// Returns the median distance from the median, times 1.4826 (the standard deviation of a
    /// normal distribution).
    pub fn spread(&self) -> f64 {
        let median = self.median();
        1.4826 * Self::of(self.0.iter().map(|value| (value - median).abs())).median()
    }

    /// Returns the quantile `q` with its interval. Its bounds are the two order statistics between
    /// which it lies with at least 95 % (by the binomial distribution; David and Nagaraja, "Order
    /// Statistics", §7.1).
    pub fn quantile(&self, q: f64) -> Quantile {
        Quantile { q, ms: self.at(q), ci_ms: self.between(q, 0.025) }
    }

    /// Returns the bounds of the quantile `q` that leave `outside` on either side, as [`quantile`]
    /// has them for 95 %.
    ///
    /// [`quantile`]: Self::quantile
    pub(crate) fn between(&self, q: f64, outside: f64) -> [Option<f64>; 2] {
        let at = |rank: Option<u64>| rank.and_then(|rank| self.0.get(rank as usize - 1).copied());
        ranks(self.0.len() as u64, q, outside).map(at)
    }

    /// Returns each of the quantiles `qs` with its interval.
    pub fn quantiles(&self, qs: &[f64]) -> Vec<Quantile> {
        qs.iter().map(|q| self.quantile(*q)).collect()
    }
}

/// The ranks, counted from 1, of the order statistics that bound the quantile `q` of `n` values
/// with `outside` on either side.
fn ranks(n: u64, q: f64, outside: f64) -> [Option<u64>; 2] {
    if n == 0 || !(q > 0.0 && q < 1.0) {
        return [None, None];
    }
    let Ok(below) = Binomial::new(q, n) else { return [None, None] };
    // The quantile is under the value of rank r exactly when fewer than r values are under it.
    // `low` is the first number of values that is not too few, hence the last safe lower rank.
    let low = below.inverse_cdf(outside);
    let high = below.inverse_cdf(1.0 - outside) + 1;
    [(low > 0).then_some(low), (high <= n).then_some(high)]
}

#[cfg(test)]
mod tests;
