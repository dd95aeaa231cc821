//! Orders calls by time, puts them into bins of as many calls each, and scores each bin.
//!
//! There are 200 to 600 bins. From 20,000 calls on, a bin has a hundred calls or more; of up to 200
//! calls, each is a bin of its own. What is left over is in the last bin. So a bin is as long as
//! its calls take, and a busy hour has more bins than a quiet one.
//! A score is a mean over the calls of a bin, each of which counts for its rank or for being over a
//! bound. So no call counts for more than one, however slow it is.
//! Invariant: every column has as many entries as there are bins; values are logarithms.
//! Failure: none below [`CALLS_MIN`] calls with times.

use crate::series::Series;

/// Fewer calls are a short run, of which nothing is said.
pub(super) const CALLS_MIN: usize = 100;
/// Calls of a bin where there are enough.
const CALLS_PER_BIN: usize = 100;
const BINS_MIN: usize = 200;
const BINS_MAX: usize = 600;
/// Of fewer bins nothing is said.
const BINS_LEAST: usize = 20;
/// Calls at the same time share their queue: a bin has so many calls for each further one of them.
const SHARED: f64 = 10.0;
/// A bound is of use if so many calls lie on either side.
const BEYOND_MIN: f64 = 20.0;
/// The least time that has a logarithm.
const LEAST_MS: f64 = 1e-6;

/// Calls in the order of time, in bins.
pub(super) struct TimeBins {
    /// Logarithm of each call's milliseconds.
    pub values: Vec<f64>,
    /// Milliseconds from the first call's beginning to each call's.
    pub began_ms: Vec<f64>,
    /// Calls in each bin but the last.
    pub per_bin: usize,
    /// How many bins there are.
    pub count: usize,
}

impl TimeBins {
    /// Puts the calls of a series into bins; none without times, or for too few calls.
    pub(super) fn new(series: &Series) -> Option<Self> {
        if series.len() < CALLS_MIN || series.began_ms.len() != series.len() {
            return None;
        }
        let mut rows: Vec<(f64, f64)> =
            series.began_ms.iter().copied().zip(series.total_ms.iter().copied()).collect();
        if !rows.is_sorted_by(|one, other| one.0 <= other.0) {
            rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        let first = rows[0].0;
        let bins = (rows.len() / CALLS_PER_BIN).clamp(BINS_MIN, BINS_MAX);
        let span = rows[rows.len() - 1].0 - first;
        let at_once = rows.iter().map(|(_, ms)| ms).sum::<f64>() / span.max(1e-9);
        let per_bin = rows.len().div_ceil(bins).max((SHARED * (at_once - 1.0)).min(1e9) as usize);
        (rows.len() / per_bin >= BINS_LEAST).then(|| Self {
            values: rows.iter().map(|(_, ms)| ms.max(LEAST_MS).ln()).collect(),
            began_ms: rows.iter().map(|(began, _)| began - first).collect(),
            per_bin,
            count: rows.len() / per_bin,
        })
    }

    /// The first call of a bin; of the bin after the last, the number of calls.
    pub(super) fn first_of(&self, bin: usize) -> usize {
        if bin >= self.count { self.values.len() } else { bin * self.per_bin }
    }

    /// The logarithms of the calls of some bins.
    pub(super) fn calls(&self, bins: std::ops::Range<usize>) -> &[f64] {
        &self.values[self.first_of(bins.start)..self.first_of(bins.end)]
    }

    /// When a bin begins; of the bin after the last, when the last call begins.
    pub(super) fn began(&self, bin: usize) -> f64 {
        self.began_ms[self.first_of(bin).min(self.began_ms.len() - 1)]
    }

    /// The mean over each bin of what `score` gives for a call.
    pub(super) fn means(&self, score: impl Fn(usize) -> f64) -> Vec<f64> {
        let mean = |bin: usize| {
            let calls = self.first_of(bin)..self.first_of(bin + 1);
            let count = calls.len() as f64;
            calls.map(&score).sum::<f64>() / count
        };
        (0..self.count).map(mean).collect()
    }

    /// The mean rank of each bin, from 0 to 1; equal values have one rank.
    pub(super) fn ranks(&self) -> Vec<f64> {
        ranks(&self.values, |ranks| self.means(|call| ranks[call]))
    }

    /// The share of each bin's calls whose logarithm is over `bound`; none where too few lie on
    /// either side of it.
    pub(super) fn over(&self, bound: f64) -> Option<Vec<f64>> {
        let over = self.values.iter().filter(|value| **value > bound).count() as f64;
        let is_of_use = over >= BEYOND_MIN && self.values.len() as f64 - over >= BEYOND_MIN;
        is_of_use.then(|| self.means(|call| f64::from(self.values[call] > bound)))
    }

    /// The rank of how closely the calls of each bin follow each other.
    pub(super) fn paces(&self) -> Vec<f64> {
        let gaps: Vec<f64> = (0..self.count).map(|bin| -self.seconds(bin..bin + 1)).collect();
        ranks(&gaps, <[f64]>::to_vec)
    }

    /// How long it is from the first call of some bins to the one after their last, for each call.
    fn seconds(&self, bins: std::ops::Range<usize>) -> f64 {
        let (first, end) = (self.first_of(bins.start), self.first_of(bins.end));
        let last = end.min(self.began_ms.len() - 1);
        (self.began_ms[last] - self.began_ms[first]) / 1e3 / (last - first).max(1) as f64
    }

    /// Calls a second in some bins.
    pub(super) fn rate(&self, bins: std::ops::Range<usize>) -> f64 {
        1.0 / self.seconds(bins).max(1e-9)
    }

    /// The mean logarithm of each bin, in which a ramp is straight. The slowest and the fastest
    /// hundredth count no more than the next ones.
    pub(super) fn levels(&self) -> Vec<f64> {
        let (low, high) = (self.at(0.01), self.at(0.99));
        self.means(|call| self.values[call].clamp(low, high))
    }

    /// The quantile `q` of all calls, as a logarithm.
    pub(super) fn at(&self, q: f64) -> f64 {
        let mut values = self.values.clone();
        let place = ((values.len() as f64 * q) as usize).min(values.len() - 1);
        *values.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

/// Hands on the rank of each value, from 0 to 1; equal values share the middle of theirs.
fn ranks(values: &[f64], with: impl FnOnce(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|one, other| values[*one as usize].total_cmp(&values[*other as usize]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|one, other| values[*one as usize] == values[*other as usize]) {
        let rank = (before as f64 + equal.len() as f64 / 2.0) / values.len() as f64;
        equal.iter().for_each(|at| ranks[*at as usize] = rank);
        before += equal.len();
    }
    with(&ranks)
}
