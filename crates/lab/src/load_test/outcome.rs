//! What a run of load came to: counts, rates, times from the intended and from the actual sending,
//! and whether the generator itself can be trusted.
//!
//! Invariant: latencies are those of calls that succeeded (a status below 400); all others are in
//! `failed`, by what became of them.

mod slices;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use load::{Arrivals, Report};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use verdicts::{Attribute, AttributeValues, LeftOut, PhaseColumn, Quantile, Series, Sorted};

use super::calls::HttpCall;
use super::recorder::Recorder;
use super::sample::{CallSample, SampledCall};
use super::{LoadTest, Pacing};
use slices::per_second;

pub use slices::Slice;

/// The quantiles that are told.
const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// URLs that are told apart as an attribute at most.
const NAMES_MAX: usize = 1000;
/// A generator that is late by less than this is late by what a timer costs.
const LATE_US_MIN: u64 = 200;

/// What one thread did.
#[derive(Debug)]
pub(crate) struct ThreadOutcome<'a> {
    pub(crate) report: Report,
    pub(crate) recorder: Recorder<'a>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Serialize)]
pub struct LoadOutcome {
    /// What was called.
    pub name: String,
    /// `open` or `closed`.
    #[serde(rename = "loop")]
    pub kind: &'static str,
    /// Measured seconds.
    pub seconds: f64,
    /// Calls per second that were intended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_rate: Option<f64>,
    /// Calls per second that succeeded.
    pub rate: f64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that did not, by what became of them.
    pub failed: BTreeMap<String, u64>,
    /// Attempts to connect that failed; no call was on them.
    pub refused_connections: u64,
    /// Replies by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// From the intended sending to the end of the reply.
    pub latency_ms: TimeSummary,
    /// From the actual sending to the end of the reply.
    pub service_ms: TimeSummary,
    /// Milliseconds by which the generator sent too late though a connection was free: median, p99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<[f64; 2]>,
    /// Whether that is so much that the latencies are doubtful.
    pub is_doubtful: bool,
    /// Intended calls that waited for a connection at most.
    pub backlog_max: usize,
    /// Connections open at most.
    pub connections: usize,
    /// Microseconds of CPU time, in user mode and in the kernel, that a call cost the generator.
    pub cpu_us_per_call: f64,
    /// Calls that `series` holds.
    pub kept: usize,
    /// The run in pieces, where its rate changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// The calls themselves.
    #[serde(skip)]
    pub series: Series,
    /// Nanoseconds from the intended sending, of all calls that succeeded.
    #[serde(skip)]
    pub histogram: Histogram<u64>,
}

/// A distribution in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TimeSummary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Least.
    pub min: f64,
    /// Greatest of all calls, kept or not.
    pub max: f64,
    /// Quantiles of the kept calls, each with its interval.
    pub quantiles: Vec<Quantile>,
}

/// All parts put together.
struct MergedRun {
    report: Report,
    calls: Vec<SampledCall>,
    offered: u64,
    failed: BTreeMap<String, u64>,
    failed_by_second: Vec<u64>,
    made: u64,
    last_success_ns: u64,
    max_ns: [u64; 2],
    has_given_up: bool,
    began: Option<(Instant, SystemTime)>,
}

/// The CPU time of this process.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl LoadOutcome {
    pub(crate) fn new(
        plan: &LoadTest,
        calls: &[HttpCall],
        parts: Vec<ThreadOutcome<'_>>,
        (begun, cpu): (Instant, Duration),
        histogram: Histogram<u64>,
    ) -> Self {
        let whole = MergedRun::of(parts, plan.kept_max);
        let warm_up_ns = plan.warm_up.as_nanos() as f64;
        let seconds = whole.report.seconds;
        let milliseconds =
            |of: fn(&SampledCall) -> u64| whole.calls.iter().map(move |call| of(call) as f64 / 1e6);
        let latency = Sorted::of(milliseconds(|call| call.latency_ns));
        let service = Sorted::of(milliseconds(|call| call.service_ns));
        let is_open = !matches!(plan.pace, Pacing::Closed { .. });
        let late = |q| whole.report.late.value_at_quantile(q) as f64 / 1e3;
        let mut loaded = Self {
            name: name_of(calls),
            kind: if is_open { "open" } else { "closed" },
            seconds,
            intended_rate: plan.rate(),
            rate: per_second(whole.offered as f64, seconds),
            succeeded: whole.offered,
            failed: whole.failed.clone(),
            refused_connections: whole.report.errors.connect,
            statuses: whole.report.statuses().collect(),
            bytes: [whole.report.bytes_read, whole.report.bytes_written],
            latency_ms: TimeSummary::of(&latency, whole.max_ns[0]),
            service_ms: TimeSummary::of(&service, whole.max_ns[1]),
            late_ms: is_open.then(|| [late(0.5), late(0.99)]),
            is_doubtful: is_open && whole.offered > 0 && whole.is_late(&latency),
            backlog_max: whole.report.backlog_max,
            connections: whole.report.connections,
            cpu_us_per_call: cpu.as_secs_f64() * 1e6 / whole.made.max(1) as f64,
            kept: whole.calls.len(),
            slices: Vec::new(),
            notes: Vec::new(),
            series: whole.series(calls, warm_up_ns, is_open),
            histogram,
        };
        if plan.changes_its_rate() {
            loaded.slices = whole.slices(seconds, warm_up_ns, loaded.series.len());
        }
        loaded.notes = loaded.remarks(plan, &whole, begun);
        loaded.series.notes.clone_from(&loaded.notes);
        loaded
    }

    /// Returns how many calls failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    fn remarks(&self, plan: &LoadTest, whole: &MergedRun, begun: Instant) -> Vec<String> {
        let mut notes = Vec::new();
        let refusal = whole.report.refusal.as_deref().unwrap_or("connections were closed");
        let after = (whole.last_success_ns as f64 / 1e9 - plan.warm_up.as_secs_f64()).max(0.0);
        let run = (begun.elapsed().as_secs_f64() - plan.warm_up.as_secs_f64()).max(self.seconds);
        if self.succeeded > 0 && self.failures() + self.refused_connections > 0 && after + 1.0 < run
        {
            notes.push(format!("the last reply came {after:.1} s into {run:.1} s: {refusal}"));
        } else if self.refused_connections > 0 {
            let count = self.refused_connections;
            notes.push(format!("{count} attempts to connect failed: {refusal}"));
        }
        if whole.has_given_up {
            let timeout = stdx::Span(plan.timeout);
            notes.push(format!("given up: no connection for {timeout}"));
        } else if plan.cancel.load(Ordering::Relaxed) {
            notes.push(format!(
                "interrupted after {run:.1} s; this is what was measured until then"
            ));
        }
        if self.is_doubtful {
            let [_, p99] = self.late_ms.unwrap_or_default();
            notes.push(format!(
                "the generator itself was late (p99 {p99:.2} ms): its machine is too busy, the \
                 latencies are doubtful; fewer calls per second, more --threads or another machine"
            ));
        }
        if let Some(intended) =
            self.intended_rate.filter(|rate| is_short(self.succeeded, rate * self.seconds))
        {
            let share = 100.0 * self.rate / intended;
            notes.push(format!(
                "{:.0} of {intended:.0} intended calls per second succeeded ({share:.0} %)",
                self.rate
            ));
        }
        if (self.kept as u64) < self.succeeded {
            notes.push(format!(
                "quantiles and verdicts are of {} calls, a random sample of {}",
                self.kept, self.succeeded
            ));
        }
        notes
    }
}

impl TimeSummary {
    fn of(sorted: &Sorted, max_ns: u64) -> Self {
        Self {
            mean: sorted.mean(),
            deviation: sorted.deviation(),
            min: sorted.at(0.0),
            max: max_ns as f64 / 1e6,
            quantiles: sorted.quantiles(&QUANTILES),
        }
    }
}

impl MergedRun {
    fn of(parts: Vec<ThreadOutcome<'_>>, kept_max: usize) -> Self {
        let began = parts.iter().filter_map(|part| part.recorder.began).min();
        let mut whole = Self {
            report: Report::default(),
            calls: Vec::new(),
            offered: 0,
            failed: BTreeMap::new(),
            failed_by_second: Vec::new(),
            made: 0,
            last_success_ns: 0,
            max_ns: [0; 2],
            has_given_up: false,
            began,
        };
        let mut sample = CallSample::new(kept_max, 0);
        for ThreadOutcome { report, recorder } in parts {
            whole.report.merge(&report);
            whole.made += recorder.made;
            whole.has_given_up |= recorder.has_given_up;
            let later = recorder.began.zip(began).map(|(own, first)| own.0 - first.0);
            let later_ns = later.map_or(0, |later| later.as_nanos() as u64);
            let last = recorder.last_success_ns.map_or(0, |last| last + later_ns);
            whole.last_success_ns = whole.last_success_ns.max(last);
            for (mine, theirs) in
                whole.max_ns.iter_mut().zip([recorder.latency_ns_max, recorder.service_ns_max])
            {
                *mine = theirs.max(*mine);
            }
            for (words, count) in recorder.failed {
                *whole.failed.entry(words).or_default() += count;
            }
            let seconds = whole.failed_by_second.len().max(recorder.failed_by_second.len());
            whole.failed_by_second.resize(seconds, 0);
            for (mine, theirs) in whole.failed_by_second.iter_mut().zip(recorder.failed_by_second) {
                *mine += theirs;
            }
            sample.merge(recorder.sample, later_ns);
        }
        (whole.calls, whole.offered) = sample.finish();
        whole
    }

    /// Late by more than a tenth of the median latency, and by more than a timer's whim.
    fn is_late(&self, latency: &Sorted) -> bool {
        let late_us = self.report.late.value_at_quantile(0.99);
        late_us > LATE_US_MIN && late_us as f64 / 1e3 > 0.1 * latency.median()
    }

    fn series(&self, calls: &[HttpCall], warm_up_ns: f64, is_open: bool) -> Series {
        let column =
            |of: &dyn Fn(&SampledCall) -> f64| self.calls.iter().map(of).collect::<Vec<f64>>();
        let mut phases = Vec::new();
        if is_open {
            let queued =
                |call: &SampledCall| (call.latency_ns.saturating_sub(call.service_ns)) as f64 / 1e6;
            let service = |call: &SampledCall| call.service_ns as f64 / 1e6;
            phases.push(PhaseColumn { name: "queue".to_owned(), ms: column(&queued) });
            phases.push(PhaseColumn { name: "service".to_owned(), ms: column(&service) });
        }
        let mut attributes = vec![Attribute {
            name: "status".to_owned(),
            values: names(self.calls.iter().map(|call| call.status.to_string())),
        }];
        if self.calls.iter().any(|call| call.bytes != self.calls[0].bytes) {
            let bytes = column(&|call| f64::from(call.bytes));
            attributes.push(Attribute {
                name: "bytes".to_owned(),
                values: AttributeValues::Numbers(bytes),
            });
        }
        if (2..=NAMES_MAX).contains(&calls.len()) {
            let values = AttributeValues::Names {
                names: calls.iter().map(|call| call.name.clone()).collect(),
                of: self.calls.iter().map(|call| call.call).collect(),
            };
            attributes.push(Attribute { name: "url".to_owned(), values });
        }
        let since_epoch = |(_, time): (Instant, SystemTime)| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            (since.as_nanos() as f64 + warm_up_ns) / 1e6
        };
        Series {
            name: name_of(calls),
            total_ms: column(&|call| call.latency_ns as f64 / 1e6),
            began_ms: column(&|call| (call.intended_ns as f64 - warm_up_ns) / 1e6),
            origin_unix_ms: self.began.map(since_epoch),
            phases,
            attributes,
            left_out: LeftOut { failed: self.failed.clone(), ..LeftOut::default() },
            notes: Vec::new(),
        }
    }
}

impl LoadTest {
    fn changes_its_rate(&self) -> bool {
        matches!(
            &self.pace,
            Pacing::Trace(_) | Pacing::Open(Arrivals::Ramp { .. } | Arrivals::At(_))
        )
    }
}

/// Whether calls are missing: a twentieth, and more than random arrivals are ever fewer.
fn is_short(succeeded: u64, intended: f64) -> bool {
    let missing = intended - succeeded as f64;
    missing > 0.05 * intended && missing > 4.0 * intended.sqrt()
}

/// The first URLs, and how many more there are.
fn name_of(calls: &[HttpCall]) -> String {
    let first: Vec<&str> = calls.iter().take(3).map(|call| call.name.as_str()).collect();
    match calls.len().saturating_sub(first.len()) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Values as names, each kept once.
fn names(values: impl Iterator<Item = String>) -> AttributeValues {
    let mut known = BTreeMap::new();
    let mut names = Vec::new();
    let of = values
        .map(|value| {
            *known.entry(value).or_insert_with_key(|value| {
                names.push(value.clone());
                names.len() as u32 - 1
            })
        })
        .collect();
    AttributeValues::Names { names, of }
}

#[cfg(test)]
mod tests;
