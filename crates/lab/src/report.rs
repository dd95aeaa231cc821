//! Reports on a series, or on two: computes the figures, has verdicts made, and says what to draw.
//!
//! [`Report`] serialises as JSON; docs/lab/report.md shows most of its keys. `soak/src/lab/arm.rs`
//! reads `verdicts` there. `bench/src/rows/lab/verdict.rs` reads the first of them, so verdicts on
//! the distribution stay first. `lab load` prints the same keys beside its own `load`, so no field
//! may have that name.
//! `text.rs` and `html.rs` show it, `words.rs` and `sentences.rs` put it in words. Thresholds are
//! in `verdicts`; which quantiles, bins and attributes are shown is here. `QUANTILES` ascend: text
//! and HTML find the second series' by place.
//! Invariant: a report is a function of its series and options, seed included. Text, JSON and HTML
//! take their figures from one [`Report`], but each shows its own part of them; text and HTML
//! round. Two series are compared call by call only if both have the same number of calls.
//! Never here: a change of the series, files, terminals. No failure: without calls figures are
//! absent or 0, and the verdict is `unclear`.

mod html;
mod sentences;
mod text;
mod words;

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use verdicts::{
    AttributeVerdict, Difference, Judged, Quantile, Quantised, Series, Sorted, Split, StepShare,
    UNTRACKED, Verdict, apart, attributes, changes, judge, paired, significant, steps, unpaired,
};

pub use words::{Words, in_words};

/// Quantiles that are reported, where the series is long enough to have them.
const QUANTILES: [(&str, f64); 8] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
];
/// The quantile whose distance to the slowest call decides whether axes are logarithmic.
const FAST: f64 = 0.1;
/// Bins of the histogram.
const BINS: usize = 40;
/// Attribute values that are shown.
const ATTRIBUTES_MAX: usize = 12;
/// Calls that may well be in ascending order by chance.
const ASCENDING_MAX: usize = 8;

/// What a report depends on besides the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportOptions {
    /// For everything that is drawn at random: the same seed, the same report.
    pub seed: u64,
    /// Calls over this many milliseconds are slow; otherwise the slowest twentieth.
    pub slow_over_ms: Option<f64>,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self { seed: 2, slow_over_ms: None }
    }
}

/// A report on one series, or on two.
#[derive(Debug, Clone, Serialize)]
pub struct Report<'a> {
    /// What was called.
    pub name: &'a str,
    /// What can be said; in JSON with how each was judged.
    #[serde(serialize_with = "judged")]
    pub verdicts: Vec<Verdict>,
    /// What came of the calls.
    #[serde(flatten)]
    pub counts: CallCounts<'a>,
    /// Least, mean, most and deviation; absent without calls.
    #[serde(flatten)]
    pub moments: Option<TimeMoments>,
    /// Quantiles with intervals, by their names.
    #[serde(serialize_with = "by_name")]
    pub quantiles: Vec<(&'static str, Quantile)>,
    /// Calls over this are slow.
    pub slow_over_ms: f64,
    /// The steps, in the order in which they were measured.
    pub phases: Vec<PhaseSummary>,
    /// What was looked at among attributes, the least likely by chance first.
    pub attributes: Vec<AttributeVerdict>,
    /// Counts of calls by their time; absent without calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<LatencyHistogram>,
    /// What has to be known of the measurement.
    pub notes: &'a [String],
    /// What it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Box<Versus<'a>>>,
    #[serde(skip)]
    series: &'a Series,
    #[serde(skip)]
    shares: Vec<StepShare>,
}

/// What came of the calls, and when they were made.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CallCounts<'a> {
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls that failed, by what became of them.
    pub failures: &'a BTreeMap<String, u64>,
    /// Rows that could not be used, by why.
    pub left_out: &'a BTreeMap<String, u64>,
    /// Milliseconds since the Unix epoch at which the first call began, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_unix_ms: Option<f64>,
    /// Milliseconds from the beginning of the first call to the end of the last, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_ms: Option<f64>,
}

/// Simple figures of the calls' times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeMoments {
    /// The fastest call.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The slowest call.
    pub max_ms: f64,
    /// The standard deviation.
    pub deviation_ms: f64,
}

/// A step of all calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Its name; `untracked` is what no step covers.
    pub name: String,
    /// Its median.
    pub median_ms: f64,
    /// Its 99th percentile.
    pub p99_ms: f64,
    /// Its part of the whole time.
    pub share: f64,
    /// Share of calls in which it was slowed down.
    pub slowed: f64,
    /// Milliseconds by which it is longer in slow calls than in typical ones.
    pub excess_ms: f64,
    /// 95 % interval of that.
    pub ci_ms: [f64; 2],
}

/// A histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    /// Lower end of the first bin.
    pub low_ms: f64,
    /// Upper end of the last bin.
    pub high_ms: f64,
    /// Whether bins grow by a factor.
    pub log: bool,
    /// Calls in each bin.
    pub counts: Vec<u64>,
}

/// A second series beside the first.
#[derive(Debug, Clone, Serialize)]
pub struct Versus<'a> {
    /// Whether call i was held against call i.
    pub paired: bool,
    /// How much slower the second is; absent when either has no calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The second's own report.
    pub report: Report<'a>,
}

impl<'a> Report<'a> {
    /// Reports on a series.
    pub fn new(series: &'a Series, options: &ReportOptions) -> Self {
        let split = Split::new(&series.total_ms, options.slow_over_ms);
        let sorted = Sorted::new(&series.total_ms);
        let found = steps(series, &split, options.seed);
        let looks = attributes(series, &split);
        let apart = apart(series);
        let mut verdicts = judge(&apart, options.seed);
        let since = changes(&apart, &split, &verdicts, options.seed);
        verdicts.extend(found.verdicts);
        verdicts.extend(significant(&looks));
        verdicts.extend(since);
        let histogram = counted(series, &sorted, &verdicts);
        let left_out = &series.left_out;
        Self {
            name: &series.name,
            verdicts,
            counts: CallCounts {
                calls: series.len() as u64,
                failed: left_out.failed.values().sum(),
                failures: &left_out.failed,
                left_out: &left_out.bad,
                began_unix_ms: began(series),
                span_ms: span(series),
            },
            moments: moments(&sorted),
            quantiles: quantiles(&sorted),
            slow_over_ms: split.slow_over_ms,
            phases: phases(series, &found.shares),
            attributes: looks.into_iter().take(ATTRIBUTES_MAX).collect(),
            histogram,
            notes: &series.notes,
            versus: None,
            series,
            shares: found.shares,
        }
    }

    /// Reports on a series beside another: call by call when `is_paired`, otherwise as two samples.
    pub fn versus(
        series: &'a Series,
        other: &'a Series,
        is_paired: bool,
        options: &ReportOptions,
    ) -> Self {
        let is_paired = is_paired && series.len() == other.len();
        let compare = if is_paired { paired } else { unpaired };
        let difference = compare(&series.total_ms, &other.total_ms);
        let report = Self::new(other, options);
        let versus = Versus { paired: is_paired, difference, report };
        Self { versus: Some(Box::new(versus)), ..Self::new(series, options) }
    }

    /// Returns the report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has text keys only")
    }

    /// The comb, where there is one.
    fn comb(&self) -> Option<&Quantised> {
        self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Quantised(comb) => Some(comb),
            _ => None,
        })
    }

    /// Values to point at in a histogram: teeth, or the tops of several humps.
    fn marks(&self) -> Vec<f64> {
        if let Some(comb) = self.comb() {
            return comb.teeth.iter().map(|tooth| tooth_ms(comb, tooth.k)).collect();
        }
        let modes = self.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Multimodal(found) => Some(&found.modes),
            _ => None,
        });
        modes.map_or_else(Vec::new, |modes| modes.iter().map(|mode| mode.at_ms).collect())
    }

    /// Where something changes, in the unit of `axis`: the ends of ramps, too.
    fn changed(&self, axis: TimeAxis) -> Vec<f64> {
        let changes = self.verdicts.iter().filter_map(|verdict| match verdict {
            Verdict::Change(change) => Some([Some(change.at_ms), change.until_ms]),
            _ => None,
        });
        changes.flatten().flatten().map(|at| at / axis.unit_ms).collect()
    }

    /// Calls against time in the unit of `axis`, or against their number where times are unknown.
    /// None where the order is unknown too: in a file that holds a histogram or sorted latencies.
    fn points(&self, clock: TimeAxis) -> Vec<(f64, f64)> {
        let series = self.series;
        if series.began_ms.is_empty() {
            let total_ms = &series.total_ms;
            let varies = total_ms.first() < total_ms.last();
            if varies && total_ms.len() > ASCENDING_MAX && total_ms.is_sorted() {
                return Vec::new();
            }
            return (1..).map(f64::from).zip(total_ms.iter().copied()).collect();
        }
        let first = series.began_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let since = series.began_ms.iter().map(|began| (began - first) / clock.unit_ms);
        let mut points: Vec<_> = since.zip(series.total_ms.iter().copied()).collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        points
    }

    /// How the axis of time reads: in the unit that gives the fewest digits.
    fn clock(&self) -> TimeAxis {
        match self.counts.span_ms {
            None => TimeAxis { unit_ms: 1.0, unit: None },
            Some(span) if span < 2e3 => TimeAxis { unit_ms: 1.0, unit: Some("ms") },
            Some(span) if span < 180e3 => TimeAxis { unit_ms: 1e3, unit: Some("s") },
            Some(span) if span < 10.8e6 => TimeAxis { unit_ms: 60e3, unit: Some("min") },
            Some(span) if span < 260e6 => TimeAxis { unit_ms: 3.6e6, unit: Some("h") },
            Some(_) => TimeAxis { unit_ms: 86.4e6, unit: Some("d") },
        }
    }

    /// Whether a verdict blames this value.
    pub(super) fn is_blamed(&self, found: &verdicts::AttributeVerdict) -> bool {
        self.verdicts.iter().any(
            |verdict| matches!(verdict, verdicts::Verdict::Attribute(blamed) if blamed == found),
        )
    }

    fn has_times(&self) -> bool {
        !self.series.began_ms.is_empty()
    }

    /// The name of a step that a verdict convicts.
    fn is_significant(&self, step: &str) -> bool {
        self.verdicts
            .iter()
            .any(|verdict| matches!(verdict, Verdict::Step(found) if found.step == step))
    }
}

/// The unit of an axis of time; without one the axis counts calls.
#[derive(Debug, Clone, Copy)]
struct TimeAxis {
    unit_ms: f64,
    unit: Option<&'static str>,
}

impl TimeAxis {
    /// How a place on the axis reads; between two calls is nothing to be read.
    fn label(&self, value: f64) -> String {
        let Some(unit) = self.unit else {
            let is_whole = (value - value.round()).abs() < 1e-6;
            return if is_whole {
                screen::number::count(value.round() as u64)
            } else {
                String::new()
            };
        };
        let text = format!("{value:.3}");
        format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Where a tooth of a comb stands.
fn tooth_ms(comb: &Quantised, k: u64) -> f64 {
    if comb.spacing == "geometric" {
        return comb.offset_ms + comb.quantum_ms * 2_f64.powi(i32::try_from(k).unwrap_or(i32::MAX));
    }
    comb.offset_ms + k as f64 * comb.quantum_ms
}

fn moments(sorted: &Sorted) -> Option<TimeMoments> {
    let (min_ms, max_ms) = (*sorted.values().first()?, *sorted.values().last()?);
    Some(TimeMoments { min_ms, mean_ms: sorted.mean(), max_ms, deviation_ms: sorted.deviation() })
}

/// The quantiles beyond which the series has a call at all.
fn quantiles(sorted: &Sorted) -> Vec<(&'static str, Quantile)> {
    let calls = sorted.len() as f64;
    let known = QUANTILES.iter().filter(|(_, q)| calls * (1.0 - q) >= 0.5);
    known.map(|(name, q)| (*name, sorted.quantile(*q))).collect()
}

fn began(series: &Series) -> Option<f64> {
    let first = series.began_ms.iter().copied().reduce(f64::min)?;
    Some(series.origin_unix_ms? + first)
}

fn span(series: &Series) -> Option<f64> {
    let first = series.began_ms.iter().copied().reduce(f64::min)?;
    let last = series.ended_ms().into_iter().reduce(f64::max)?;
    Some(last - first)
}

fn phases(series: &Series, shares: &[StepShare]) -> Vec<PhaseSummary> {
    let whole: f64 = series.total_ms.iter().sum();
    let mut rest = series.total_ms.clone();
    for phase in &series.phases {
        rest.iter_mut().zip(&phase.ms).for_each(|(rest, ms)| *rest -= ms);
    }
    let named = series.phases.iter().map(|phase| (phase.name.as_str(), &phase.ms));
    let summary = |(name, ms): (&str, &Vec<f64>)| {
        let share = shares.iter().find(|share| share.step == name)?;
        let sorted = Sorted::new(ms);
        Some(PhaseSummary {
            name: name.to_owned(),
            median_ms: share.median_ms,
            p99_ms: sorted.at(0.99),
            share: if whole > 0.0 { ms.iter().sum::<f64>() / whole } else { 0.0 },
            slowed: share.slowed,
            excess_ms: share.excess_ms,
            ci_ms: share.ci_ms,
        })
    };
    named.chain([(UNTRACKED, &rest)]).filter_map(summary).collect()
}

fn counted(series: &Series, sorted: &Sorted, verdicts: &[Verdict]) -> Option<LatencyHistogram> {
    let (min, high) = (*sorted.values().first()?, *sorted.values().last()?);
    let is_comb = |verdict: &Verdict| match verdict {
        Verdict::Quantised(comb) => comb.spacing != "geometric",
        _ => false,
    };
    // By the fast calls that there are many of: one alone needs no room of its own.
    let log = screen::is_wide(sorted.at(FAST), high) && !verdicts.iter().any(is_comb);
    // From zero unless that would leave a third of the picture empty.
    let low = if log || min > high / 3.0 { min } else { 0.0 };
    let bins = screen::Bins::new(&series.total_ms, BINS, (low, high), log);
    Some(LatencyHistogram { low_ms: low, high_ms: high, log, counts: bins.counts })
}

fn judged<S: Serializer>(verdicts: &[Verdict], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct JudgedVerdict<'v> {
        #[serde(flatten)]
        verdict: &'v Verdict,
        #[serde(flatten)]
        judged: Judged,
    }
    let whole = verdicts.iter().map(|verdict| JudgedVerdict { verdict, judged: verdict.judged() });
    serializer.collect_seq(whole)
}

fn by_name<S: Serializer>(
    quantiles: &[(&'static str, Quantile)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(quantiles.len()))?;
    for (name, quantile) in quantiles {
        map.serialize_entry(name, quantile)?;
    }
    map.end()
}

#[cfg(test)]
mod tests;
