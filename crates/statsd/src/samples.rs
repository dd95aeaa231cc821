//! Keeps the values of one timer within one interval.
//!
//! Up to a bound the values are kept, so that statistics are exact. Beyond it they become a
//! [`Summary`]. Its count, sums and extremes are still of all values; its quantiles come from a
//! DDSketch, within 1 % (see [`metrics::Quantiles`]).
//! Each value stands for `weight` of them, by its sample rate. Weights are kept only where one is
//! not 1; the sketch rounds them to whole numbers, at least 1.
//! Invariant: a timer has either values or a summary; [`Samples::of`] takes what a snapshot has and
//! does not check that. Values must be finite (`number.rs`).
//! `snapshot/format.rs` stores values and [`Summary`]: a new member is a new version there.
//! `self_metrics.rs` makes summaries of its own. `sorted` orders the values for good, and whoever
//! reads `ordered` relies on it.
//! Never here: the bounds, and charging bytes; `table.rs` asks [`Samples::grown`] for that.

use metrics::Quantiles;

/// The values of one timer.
#[derive(Debug, Default)]
pub struct Samples {
    values: Vec<f64>,
    /// One for each value, or none at all when each is 1.
    weights: Vec<f64>,
    summary: Option<Box<Summary>>,
    /// Bytes of the summary that [`Samples::grown`] has reported.
    reported_bytes: usize,
}

/// What is left of values that were too many.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Values that came.
    pub received: u64,
    /// Values that they stand for.
    pub weight: f64,
    /// The sum of values times weights.
    pub sum: f64,
    /// The sum of squares times weights.
    pub sum_squares: f64,
    /// The smallest value.
    pub lower: f64,
    /// The largest value.
    pub upper: f64,
    /// How they are spread.
    pub quantiles: Quantiles,
}

impl Samples {
    /// Adds a value; beyond `values_max` of them they become a summary. Returns how many
    /// more values are kept than before.
    pub fn add(&mut self, value: f64, weight: f64, values_max: usize) -> isize {
        if let Some(summary) = &mut self.summary {
            summary.add(value, weight);
            return 0;
        }
        if self.values.len() >= values_max {
            let values_kept = self.values.len();
            self.summarised().add(value, weight);
            return -(values_kept as isize);
        }
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.resize(self.values.len(), 1.0);
            self.weights.push(weight);
        }
        self.values.push(value);
        1
    }

    /// Values with their weights, or what they have become.
    pub fn of(values: Vec<f64>, weights: Vec<f64>, summary: Option<Summary>) -> Self {
        Self { values, weights, summary: summary.map(Box::new), reported_bytes: 0 }
    }

    /// Values as they came, and their weights; no weights when each is 1.
    pub fn plain(&self) -> (&[f64], &[f64]) {
        (&self.values, &self.weights)
    }

    /// Adds what another receiver has.
    pub fn merge(&mut self, other: Self, values_max: usize) {
        if let Some(theirs) = other.summary {
            return self.merge_summary(&theirs);
        }
        for (at, value) in other.values.iter().enumerate() {
            self.add(*value, other.weights.get(at).copied().unwrap_or(1.0), values_max);
        }
    }

    /// Adds what is known in sum only.
    pub fn merge_summary(&mut self, other: &Summary) {
        self.summarised().merge(other);
    }

    /// The number of values that are kept as they came.
    pub fn values_kept(&self) -> usize {
        self.values.len()
    }

    /// Bytes that the summary takes, as far as [`Samples::grown`] has reported them.
    pub fn reported_bytes(&self) -> usize {
        self.reported_bytes
    }

    /// By how many bytes the summary has become larger since this was last asked.
    pub fn grown(&mut self) -> isize {
        let summary = self.summary.as_ref();
        let bytes = summary.map_or(0, |s| size_of::<Summary>() + s.quantiles.heap_bytes());
        let grown = bytes as isize - self.reported_bytes as isize;
        self.reported_bytes = bytes;
        grown
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.summary.is_none()
    }

    /// The values as they came; empty once they were too many.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// What is left of values that were too many.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_deref()
    }

    /// How many values these stand for.
    pub fn weight(&self) -> f64 {
        match &self.summary {
            Some(summary) => summary.weight,
            None if self.weights.is_empty() => self.values.len() as f64,
            None => self.weights.iter().sum(),
        }
    }

    /// Values with their weights, in ascending order; without weights in place.
    pub fn sorted(&mut self) -> (&[f64], Option<&[f64]>) {
        if self.weights.is_empty() {
            self.values.sort_unstable_by(f64::total_cmp);
            return (&self.values, None);
        }
        let mut pairs: Vec<(f64, f64)> =
            self.values.iter().copied().zip(self.weights.iter().copied()).collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        (self.values, self.weights) = pairs.into_iter().unzip();
        (&self.values, Some(&self.weights))
    }

    /// Values with their weights as they stand: in ascending order once [`Self::sorted`] was asked.
    pub fn ordered(&self) -> (&[f64], Option<&[f64]>) {
        (&self.values, (!self.weights.is_empty()).then_some(&*self.weights))
    }

    fn summarised(&mut self) -> &mut Summary {
        let (values, weights) = (&mut self.values, &mut self.weights);
        self.summary.get_or_insert_with(|| {
            let mut summary = Box::new(Summary::empty());
            for (at, value) in values.iter().enumerate() {
                summary.add(*value, weights.get(at).copied().unwrap_or(1.0));
            }
            (*values, *weights) = (Vec::new(), Vec::new());
            summary
        })
    }
}

impl Summary {
    /// Of values, each standing for so many, whose sum is known better than by adding them up.
    pub fn of(values: impl Iterator<Item = (f64, f64)>, sum: f64) -> Self {
        let mut summary = Self::empty();
        values.for_each(|(value, weight)| summary.add(value, weight));
        summary.sum = sum;
        summary
    }

    fn empty() -> Self {
        Self {
            received: 0,
            weight: 0.0,
            sum: 0.0,
            sum_squares: 0.0,
            lower: f64::INFINITY,
            upper: f64::NEG_INFINITY,
            quantiles: Quantiles::default(),
        }
    }

    fn add(&mut self, value: f64, weight: f64) {
        self.received += 1;
        self.weight += weight;
        self.sum += value * weight;
        self.sum_squares += value * value * weight;
        self.lower = self.lower.min(value);
        self.upper = self.upper.max(value);
        self.quantiles.add_times(value, (weight.round() as u64).max(1));
    }

    fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.weight += other.weight;
        self.sum += other.sum;
        self.sum_squares += other.sum_squares;
        self.lower = self.lower.min(other.lower);
        self.upper = self.upper.max(other.upper);
        self.quantiles.merge(&other.quantiles);
    }
}

#[cfg(test)]
mod tests;
