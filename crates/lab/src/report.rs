//! Reports on a series, or on two: computes the figures, has verdicts made, and says what to draw.
//!
//! [`Report`] serialises as JSON; docs/lab/report.md shows most of its keys. `soak/src/lab/arm.rs`
//! reads `verdicts` there. `bench/src/rows/lab/verdict.rs` reads the first of them, so verdicts on
//! the distribution stay first. `lab load` prints the same keys beside its own `load`, so no field
//! may have that name.
//! `text.rs` and `html.rs` show it, `words.rs` and `sentences.rs` put it in words. Thresholds are
//! in `verdicts`; which quantiles and attributes are shown is here, which bins in `binning.rs`.
//! `QUANTILES` ascend: text and HTML find the second series' by place.
//! Invariant: a report is a function of its series and options, seed included. Text, JSON and HTML
//! take their figures from one [`Report`], but each shows its own part of them; text and HTML
//! round. Two series are compared call by call only if both have the same number of calls.
//! Never here: a change of the series, files, terminals. No failure: without calls figures are
//! absent or 0, and the verdict is `unclear`.

mod beside;
mod binning;
pub(crate) mod html;
mod scatter;
mod sentences;
mod steps;
mod story;
pub(crate) mod text;
pub(crate) mod words;

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use verdicts::{
    AttributeVerdict, Difference, Judged, Quantile, RelativeChange, Series, Sorted, Split,
    StepShare, Steps, UNTRACKED, Verdict, apart, attributes, changes, judge, paired, significant,
    steps, together_share, unpaired,
};

pub use beside::Beside;
use beside::SignalCourse;
use binning::counted;
pub use scatter::Scatter;
pub(crate) use sentences::change as change_sentences;
pub use steps::StepsReport;
use words::tooth_ms;
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
    /// What was measured beside the calls, where anything was.
    #[serde(flatten)]
    pub beside: Option<Box<Beside>>,
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

impl<'a> CallCounts<'a> {
    /// Counts what came of a series.
    pub(crate) fn of(series: &'a Series) -> Self {
        Self {
            calls: series.len() as u64,
            failed: series.left_out.failed.values().sum(),
            failures: &series.left_out.failed,
            left_out: &series.left_out.bad,
            began_unix_ms: began(series),
            span_ms: span(series),
        }
    }
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
    /// By which part it is slower, with a verdict; absent where that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<RelativeChange>,
    /// The second's own report.
    pub report: Report<'a>,
}

impl<'a> Report<'a> {
    /// Reports on a series.
    pub fn new(series: &'a Series, options: &ReportOptions) -> Self {
        let split = Split::new(&series.total_ms, options.slow_over_ms);
        let looks = attributes(series, &split);
        let found = steps(series, &split, options.seed);
        let alone = apart(series);
        let mut verdicts = judge(&alone, options.seed);
        verdicts.iter_mut().for_each(|verdict| leave_strays(verdict, &alone.total_ms));
        let since = changes(&alone, &split, &verdicts, options.seed);
        verdicts.extend(found.verdicts.iter().cloned());
        verdicts.extend(significant(&looks));
        verdicts.extend(since);
        let attributes = looks.into_iter().take(ATTRIBUTES_MAX).collect();
        Self { attributes, ..Self::of_steps(series, &split, found, verdicts) }
    }

    /// Reports on what was found out about the steps of a series; `verdicts` are all there are.
    fn of_steps(series: &'a Series, split: &Split, found: Steps, verdicts: Vec<Verdict>) -> Self {
        let sorted = Sorted::new(&series.total_ms);
        let histogram = counted(series, &sorted, &verdicts, &marks(&verdicts)).map(|bins| {
            let screen::Bins { low: low_ms, high: high_ms, is_log: log, counts, .. } = bins;
            LatencyHistogram { low_ms, high_ms, log, counts }
        });
        Self {
            name: &series.name,
            counts: CallCounts::of(series),
            moments: moments(&sorted),
            quantiles: quantiles(&sorted),
            slow_over_ms: split.slow_over_ms,
            phases: phases(series, &found.shares),
            attributes: Vec::new(),
            histogram,
            verdicts,
            notes: &series.notes,
            versus: None,
            beside: None,
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
        let change = change(series, other, is_paired);
        let report = Self::new(other, options);
        let versus = Versus { paired: is_paired, difference, change, report };
        Self { versus: Some(Box::new(versus)), ..Self::new(series, options) }
    }

    /// Returns the report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has text keys only")
    }

    /// Values to point at in a histogram: teeth, or the tops of several humps.
    fn marks(&self) -> Vec<f64> {
        marks(&self.verdicts)
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
        TimeAxis::over(self.counts.span_ms)
    }

    /// The signal that is drawn under the calls, where these are drawn by time.
    fn drawn_signal(&self) -> Option<&SignalCourse> {
        self.beside.as_ref()?.drawn.as_ref()
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

/// By which part the second series is slower: of bursts one call each, since calls of one burst
/// are not independent.
pub(crate) fn change(one: &Series, other: &Series, is_paired: bool) -> Option<RelativeChange> {
    let (one, other) = (apart(one), apart(other));
    RelativeChange::of(&one.total_ms, &other.total_ms, is_paired && one.len() == other.len())
}

/// The unit of an axis of time; without one the axis counts calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeAxis {
    pub(crate) unit_ms: f64,
    unit: Option<&'static str>,
}

impl TimeAxis {
    /// The axis of so many milliseconds.
    pub(crate) fn over(span_ms: Option<f64>) -> Self {
        let (unit_ms, unit) = match span_ms {
            None => (1.0, None),
            Some(span) if span < 2e3 => (1.0, Some("ms")),
            Some(span) if span < 180e3 => (1e3, Some("s")),
            Some(span) if span < 10.8e6 => (60e3, Some("min")),
            Some(span) if span < 260e6 => (3.6e6, Some("h")),
            Some(_) => (86.4e6, Some("d")),
        };
        Self { unit_ms, unit }
    }

    /// How a place on the axis reads; between two calls is nothing to be read.
    pub(crate) fn label(&self, value: f64) -> String {
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

/// Places that verdicts name: the teeth of a comb, or else the tops of several humps.
fn marks(verdicts: &[Verdict]) -> Vec<f64> {
    let of = |verdict: &Verdict| match verdict {
        Verdict::Quantised(comb) => {
            Some(comb.teeth.iter().map(|tooth| tooth_ms(comb, tooth.k)).collect())
        }
        Verdict::Multimodal(found) => Some(found.modes.iter().map(|mode| mode.at_ms).collect()),
        _ => None,
    };
    let is_comb = |verdict: &&Verdict| matches!(verdict, Verdict::Quantised(_));
    let first = verdicts.iter().find(is_comb).and_then(of);
    first.or_else(|| verdicts.iter().find_map(of)).unwrap_or_default()
}

/// Takes calls that stand far above the only hump off its share.
fn leave_strays(verdict: &mut Verdict, total_ms: &[f64]) {
    let Verdict::Unimodal(found) = verdict else { return };
    if let [only] = &mut found.modes[..] {
        only.share = only.share.min(together_share(total_ms));
        found.explained = only.share;
    }
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

pub(crate) fn judged<S: Serializer>(
    verdicts: &[Verdict],
    serializer: S,
) -> Result<S::Ok, S::Error> {
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
