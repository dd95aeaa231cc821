//! Computes count, sum, quantiles and buckets of a timer, for backends with distributions of their
//! own.
//!
//! OpenTelemetry and Prometheus use it. Everything is weighed by sample rates, whatever the
//! flavour, and asked of the values themselves, not of the statistics that are shown.
//! Invariant: as long as values are kept, a quantile is the nearest rank by statsd's rounding, and
//! a median between two values is their mean. Once they are a sketch, quantiles and buckets are
//! within 1 %, with weights rounded to whole numbers. A bucket includes its bound; the bins of
//! [`crate::statistics`] do not.
//! The values must be in order: `TimerStatistics::of`, which `flush.rs` calls for each timer, sorts
//! them. `shares` are labels on the page for Prometheus: another rounding makes new series there.

use crate::samples::Samples;

/// The shares at which quantiles are shown: both ends, the middle, and the configured percentiles,
/// those from above turned over.
pub(crate) fn shares(percentiles: &[f64]) -> Vec<f64> {
    let configured = percentiles.iter().map(|percent| {
        let share = if *percent < 0.0 { 100.0 + percent } else { *percent };
        // 99.9 / 100 is not 0.999.
        (share * 1e7).round() / 1e9
    });
    let mut shares: Vec<f64> = [0.0, 0.5, 1.0].into_iter().chain(configured).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    shares
}

/// How the values of a flushed timer are spread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Distribution<'s>(&'s Samples);

impl<'s> Distribution<'s> {
    /// Of values that a flush has put in order; none when there are none.
    pub(crate) fn of(samples: &'s Samples) -> Option<Self> {
        (!samples.is_empty()).then_some(Self(samples))
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> f64 {
        self.0.weight()
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f64 {
        match self.0.summary() {
            Some(summary) => summary.sum,
            None => self.weighed().map(|(value, weight)| value * weight).sum(),
        }
    }

    /// The value at a share of 0 to 1.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        if let Some(summary) = self.0.summary() {
            return match share {
                0.0 => summary.lower,
                1.0 => summary.upper,
                _ => summary.quantiles.quantile(share).unwrap_or(summary.lower),
            };
        }
        if share == 0.5 {
            return self.median();
        }
        self.at_rank((share * self.count() + 0.5).floor().max(1.0))
    }

    /// How many values are not above a bound.
    pub(crate) fn up_to(&self, bound: f64) -> f64 {
        if let Some(summary) = self.0.summary() {
            let below = summary.quantiles.values().filter(|(value, _)| *value <= bound);
            return below.map(|(_, count)| count as f64).sum();
        }
        let below = self.weighed().take_while(|(value, _)| *value <= bound);
        below.map(|(_, weight)| weight).sum()
    }

    fn median(&self) -> f64 {
        let half = self.count() / 2.0;
        let (mut before, mut lower) = (0.0, 0.0);
        for (value, weight) in self.weighed() {
            if before == half {
                return (lower + value) / 2.0;
            }
            before += weight;
            lower = value;
            if before > half {
                break;
            }
        }
        lower
    }

    fn at_rank(&self, rank: f64) -> f64 {
        let (values, weights) = self.0.ordered();
        let last = values[values.len() - 1];
        if weights.is_none() {
            return values.get(rank as usize - 1).copied().unwrap_or(last);
        }
        let mut before = 0.0;
        let mut weighed = self.weighed();
        let found = weighed.find(|(_, weight)| {
            before += weight;
            before >= rank
        });
        found.map_or(last, |(value, _)| value)
    }

    fn weighed(&self) -> impl Iterator<Item = (f64, f64)> + use<'s> {
        let (values, weights) = self.0.ordered();
        let weight = move |at: usize| weights.map_or(1.0, |weights| weights[at]);
        values.iter().enumerate().map(move |(at, value)| (*value, weight(at)))
    }
}

#[cfg(test)]
mod tests;
