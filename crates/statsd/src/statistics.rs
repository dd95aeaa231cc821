//! Computes what a flush says of a timer: `count`, `mean`, `upper_90`, bins and the like.
//!
//! Method, names and order are those of statsd 0.9 (`lib/process_metrics.js`); the Perl port
//! differs in `count` and in how a percentile is written. Where values have weights,
//! [`Flavour::Native`] weighs by them; statsd weighs `count` alone, as the original does, and Perl
//! nothing.
//! Bins count values without weights. Once values were too many to be kept, everything is weighed,
//! and statistics by their order are within 1 %.
//! Invariant: every number is finite; one that is not is left out. `of` sorts kept values, on which
//! `distribution.rs` relies. A timer without values has only `count` and `count_ps`, both 0.
//! Names are stored series, and words of `statistics` in a configuration ([`NAMES`]).
//! `backend/file.rs` looks for `mean`, the demo (`crates/tidegate/src/demo/screen.rs`) for
//! `upper_99`. statsd's own tests check names and numbers through `eval.rs`.
//! Never here: quantiles for Prometheus and OpenTelemetry (`distribution.rs`), how values are kept
//! (`samples.rs`).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::flavour::Flavour;
use crate::plan::{Histogram, Plan};
use crate::samples::{Samples, Summary};

/// A statistic's name behind that of its timer, and its number.
pub(crate) type Statistic = (Cow<'static, str>, f64);

/// What a configuration may ask for: `upper_percent` stands for `upper_90` and the like, and
/// `histogram` for all bins.
pub(crate) const NAMES: [&str; 16] = [
    "count",
    "count_percent",
    "count_ps",
    "histogram",
    "lower",
    "lower_percent",
    "mean",
    "mean_percent",
    "median",
    "std",
    "sum",
    "sum_percent",
    "sum_squares",
    "sum_squares_percent",
    "upper",
    "upper_percent",
];

/// Which statistics are wanted.
#[derive(Debug, Clone)]
pub(crate) struct TimerStatistics {
    flavour: Flavour,
    interval_s: f64,
    percentiles: Vec<Percentile>,
    /// Names that are shown; all when empty.
    shown: Vec<String>,
    histograms: Vec<Histogram>,
}

#[derive(Debug, Clone)]
struct Percentile {
    /// Positive: that many percent from below; negative: from above.
    percent: f64,
    names: [Arc<str>; 5],
}

impl TimerStatistics {
    /// All statistics, with these percentiles; the interval is in seconds.
    pub(crate) fn new(flavour: Flavour, interval_s: f64, percents: &[f64]) -> Self {
        let percentiles = percents.iter().map(|percent| Percentile::new(*percent, flavour));
        Self {
            flavour,
            interval_s,
            percentiles: percentiles.collect(),
            shown: Vec::new(),
            histograms: Vec::new(),
        }
    }

    /// What a plan wants, of an interval that took so long.
    pub(crate) fn by(plan: &Plan, interval: Duration) -> Self {
        Self::new(plan.flavour, interval.as_secs_f64(), &plan.percentiles)
            .showing(plan.statistics.clone())
            .with_histograms(plan.histograms.clone())
    }

    /// Only these names; `count_percent` stands for `count_90` and the like.
    pub(crate) fn showing(mut self, shown: Vec<String>) -> Self {
        self.shown = shown;
        self
    }

    /// With bins for some timers; the first whose text fits counts.
    pub(crate) fn with_histograms(mut self, histograms: Vec<Histogram>) -> Self {
        self.histograms = histograms;
        self
    }

    /// The statistics of one timer.
    pub(crate) fn of(&self, name: &str, samples: &mut Samples) -> Vec<Statistic> {
        // Room for all of them: a list that grows takes up to twice what `name_costs.rs` reckons.
        let bins = self.histograms.iter().map(|histogram| histogram.bins.len()).max();
        let mut out =
            Vec::with_capacity(TOTALS + self.percentiles.len() * 5 + bins.unwrap_or_default());
        if samples.is_empty() {
            out.extend([("count".into(), 0.0), ("count_ps".into(), 0.0)]);
        } else if let Some(summary) = samples.summary() {
            self.estimated(summary, &mut out);
            self.bins(name, &mut out, |bound| estimated_below(summary, bound));
        } else {
            self.exact(samples, &mut out);
            let values = samples.values();
            self.bins(name, &mut out, |bound| match bound {
                Some(bound) => values.partition_point(|value| *value < bound) as f64,
                None => values.len() as f64,
            });
        }
        // Squares of large values are beyond all numbers.
        out.retain(|(_, number)| number.is_finite());
        if !self.shown.is_empty() {
            out.retain(|(name, _)| self.shows(name));
        }
        out
    }

    fn exact(&self, samples: &mut Samples, out: &mut Vec<Statistic>) {
        let weight = samples.weight();
        let is_weighed = self.flavour == Flavour::Native;
        let (values, weights) = samples.sorted();
        let spread = match weights.filter(|_| is_weighed) {
            Some(weights) => Spread::weighed(values, weights),
            None => Spread::plain(values),
        };
        for percentile in &self.percentiles {
            percentile.exact(values, &spread, out);
        }
        let count = if self.flavour == Flavour::Perl { values.len() as f64 } else { weight };
        let (sum, squares) = spread.totals();
        let mean = sum / spread.weight;
        let deviations = values.iter().enumerate();
        let deviations = deviations.map(|(at, value)| spread.of(at) * (value - mean).powi(2));
        let std = (deviations.sum::<f64>() / spread.weight).sqrt();
        let totals = TimerTotals {
            count,
            sum,
            sum_squares: squares,
            mean,
            std,
            lower: values[0],
            upper: values[values.len() - 1],
            median: spread.median(values),
        };
        totals.push(self.interval_s, out);
    }

    fn estimated(&self, summary: &Summary, out: &mut Vec<Statistic>) {
        for percentile in &self.percentiles {
            percentile.estimated(summary, out);
        }
        let Summary { weight, sum, sum_squares, lower, upper, .. } = *summary;
        let mean = sum / weight;
        let totals = TimerTotals {
            count: weight,
            sum,
            sum_squares,
            mean,
            std: (sum_squares / weight - mean * mean).max(0.0).sqrt(),
            lower,
            upper,
            median: summary.quantiles.quantile(0.5).unwrap_or(mean),
        };
        totals.push(self.interval_s, out);
    }

    /// Values in each bin; what is above the last is in none.
    fn bins(&self, name: &str, out: &mut Vec<Statistic>, below: impl Fn(Option<f64>) -> f64) {
        let Some(histogram) = self.histograms.iter().find(|h| name.contains(&h.part)) else {
            return;
        };
        let mut before = 0.0;
        for bin in &histogram.bins {
            let bound = bin.map_or("inf".to_owned(), |bound| {
                ryu_js::Buffer::new().format(bound).replacen('.', "_", 1)
            });
            let count = below(*bin).max(before);
            out.push((format!("histogram.bin_{bound}").into(), count - before));
            before = count;
        }
    }

    fn shows(&self, name: &str) -> bool {
        let whole = name.split('.').next().unwrap_or(name);
        let is_digit = |letter: char| letter.is_ascii_digit();
        let mut trimmed = whole.trim_end_matches(is_digit);
        if self.flavour == Flavour::Native
            && let Some(before) = trimmed.strip_suffix('_')
            && before.ends_with(is_digit)
        {
            // Such as `upper_99_9`, whose fraction statsd takes for the whole.
            trimmed = before.trim_end_matches(is_digit);
        }
        // Only those of percentiles end so.
        let stem = trimmed.strip_suffix("top").unwrap_or(trimmed).strip_suffix('_');
        match stem {
            Some(stem) => self.shown.iter().any(|shown| *shown == format!("{stem}_percent")),
            None => self.shown.iter().any(|shown| shown == whole),
        }
    }
}

/// What is shown of all values of a timer.
struct TimerTotals {
    /// How many there are, by their weights where these count.
    count: f64,
    sum: f64,
    sum_squares: f64,
    mean: f64,
    /// The standard deviation of these values.
    std: f64,
    /// The smallest value.
    lower: f64,
    /// The largest value.
    upper: f64,
    median: f64,
}

/// How many statistics a timer has beside those of percentiles and bins.
pub(crate) const TOTALS: usize = 9;

impl TimerTotals {
    /// Adds them under statsd's names and in its order.
    fn push(&self, interval_s: f64, out: &mut Vec<Statistic>) {
        let totals: [Statistic; TOTALS] = [
            ("std".into(), self.std),
            ("upper".into(), self.upper),
            ("lower".into(), self.lower),
            ("count".into(), self.count),
            ("count_ps".into(), self.count / interval_s),
            ("sum".into(), self.sum),
            ("sum_squares".into(), self.sum_squares),
            ("mean".into(), self.mean),
            ("median".into(), self.median),
        ];
        out.extend(totals);
    }
}

impl Percentile {
    fn new(percent: f64, flavour: Flavour) -> Self {
        let mut buffer = ryu_js::Buffer::new();
        let text = buffer.format(percent);
        let points = if flavour == Flavour::Perl { usize::MAX } else { 1 };
        let text = text.replacen('.', "_", points).replacen('-', "top", 1);
        let bound = if percent > 0.0 { "upper" } else { "lower" };
        let names = ["count", "mean", bound, "sum", "sum_squares"];
        Self { percent, names: names.map(|name| format!("{name}_{text}").into()) }
    }

    /// The values of the percentile are the first or the last so many, by statsd's rounding.
    fn exact(&self, values: &[f64], spread: &Spread<'_>, out: &mut Vec<Statistic>) {
        let all = values.len();
        let share = self.percent.abs() / 100.0;
        let count = match all {
            1 => 1,
            _ => (spread.place(share, self.percent > 0.0)).min(all),
        };
        if count == 0 {
            return;
        }
        let is_from_below = self.percent > 0.0;
        let bound = if is_from_below { values[count - 1] } else { values[all - count] };
        let (weight, sum, squares) = match (is_from_below, all - count) {
            (true, _) => spread.up_to(count),
            (false, above) => spread.from(above),
        };
        self.push([weight, sum / weight, bound, sum, squares], out);
    }

    fn estimated(&self, summary: &Summary, out: &mut Vec<Statistic>) {
        let share = (self.percent.abs() / 100.0).min(1.0);
        let wanted = (share * summary.weight).round();
        if wanted == 0.0 {
            return;
        }
        let is_from_below = self.percent > 0.0;
        let at = if is_from_below { share } else { 1.0 - share };
        let bound = summary.quantiles.quantile(at).unwrap_or(0.0);
        let bins: Vec<(f64, u64)> = summary.quantiles.values().collect();
        let ordered: &mut dyn Iterator<Item = &(f64, u64)> =
            if is_from_below { &mut bins.iter() } else { &mut bins.iter().rev() };
        let (mut left, mut sum, mut squares) = (wanted, 0.0, 0.0);
        for (value, count) in ordered {
            let taken = left.min(*count as f64);
            sum += value * taken;
            squares += value * value * taken;
            left -= taken;
        }
        self.push([wanted, sum / wanted, bound, sum, squares], out);
    }

    fn push(&self, numbers: [f64; 5], out: &mut Vec<Statistic>) {
        for (name, number) in self.names.iter().zip(numbers) {
            out.push((Cow::Owned(name.to_string()), number));
        }
    }
}

/// Running sums over sorted values: entry `n` is over the first `n + 1`.
struct Spread<'v> {
    weights: Option<&'v [f64]>,
    weight: f64,
    weighed: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl<'v> Spread<'v> {
    fn plain(values: &[f64]) -> Self {
        let (sums, squares) = running(values.iter().map(|value| (*value, value * value)));
        let weight = values.len() as f64;
        Self { weights: None, weight, weighed: Vec::new(), sums, squares }
    }

    fn weighed(values: &[f64], weights: &'v [f64]) -> Self {
        let pairs = values.iter().zip(weights);
        let (sums, squares) = running(pairs.map(|(value, w)| (value * w, value * value * w)));
        let (weighed, _) = running(weights.iter().map(|weight| (*weight, 0.0)));
        let weight = weighed.last().copied().unwrap_or(0.0);
        Self { weights: Some(weights), weight, weighed, sums, squares }
    }

    fn of(&self, at: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[at])
    }

    /// How many values make up a share, from below or from above.
    fn place(&self, share: f64, is_from_below: bool) -> usize {
        let wanted = (share * self.weight + 0.5).floor();
        if self.weights.is_none() {
            return wanted as usize;
        }
        if wanted == 0.0 {
            return 0;
        }
        match is_from_below {
            true => self.weighed.partition_point(|sum| *sum < wanted) + 1,
            false => {
                let below = self.weight - wanted;
                self.sums.len() - self.weighed.partition_point(|sum| *sum <= below)
            }
        }
    }

    /// Weight, sum and squares of the first `count`.
    fn up_to(&self, count: usize) -> (f64, f64, f64) {
        let weight = self.weighed.get(count - 1).copied().unwrap_or(count as f64);
        (weight, self.sums[count - 1], self.squares[count - 1])
    }

    /// The same of all behind the first `skipped`.
    fn from(&self, skipped: usize) -> (f64, f64, f64) {
        let (sum, squares) = self.totals();
        if skipped == 0 {
            return (self.weight, sum, squares);
        }
        let (weight, below, squares_below) = self.up_to(skipped);
        (self.weight - weight, sum - below, squares - squares_below)
    }

    fn totals(&self) -> (f64, f64) {
        let last = self.sums.len() - 1;
        (self.sums[last], self.squares[last])
    }

    fn median(&self, values: &[f64]) -> f64 {
        let middle = values.len() / 2;
        match self.weights {
            Some(_) => {
                let half = self.weight / 2.0;
                let at = self.weighed.partition_point(|sum| *sum < half).min(values.len() - 1);
                let next = (at + 1).min(values.len() - 1);
                if self.weighed[at] == half {
                    (values[at] + values[next]) / 2.0
                } else {
                    values[at]
                }
            }
            None if values.len() % 2 == 1 => values[middle],
            None => (values[middle - 1] + values[middle]) / 2.0,
        }
    }
}

fn running(pairs: impl Iterator<Item = (f64, f64)>) -> (Vec<f64>, Vec<f64>) {
    let mut total = (0.0, 0.0);
    pairs
        .map(|(one, other)| {
            total = (total.0 + one, total.1 + other);
            total
        })
        .unzip()
}

/// How many values of a summary are below a bound.
fn estimated_below(summary: &Summary, bound: Option<f64>) -> f64 {
    let Some(bound) = bound else { return summary.weight };
    let below = summary.quantiles.values().filter(|(value, _)| *value < bound);
    below.map(|(_, count)| count as f64).sum()
}

#[cfg(test)]
mod tests;
