//! Computes the outcome of a load test: counts, rates, times from the intended and the actual
//! sending.
//!
//! It also says whether the generator itself can be trusted, and makes the notes.
//! [`LoadOutcome`] is serialised as `load` of `lab load --format json`. Its field names are keys
//! there; `bench/src/rows/lab/load.rs` reads `failed`, `succeeded` and `rate`. `text.rs` tells the
//! loops apart by the text `open`.
//! Invariant: latencies are of measured calls that succeeded (a status below 400); all others are
//! in `failed`, by the reason. Doubtful replies are in both, and a note says so. Failed attempts to
//! connect are counted apart, because no call was on them. Means, deviations, minima and quantiles
//! are of the kept calls; maxima, counts and `histogram` are of all.
//! `merged.rs` adds the threads up, `slices.rs` cuts the run, `text.rs` prints. Verdicts on the
//! series are in `report.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use verdicts::{Quantile, Series, Sorted};

use super::calls::HttpCall;
use super::merged::MergedRun;
use super::plan::{LoadTest, Pacing};
use super::sample::SampledCall;
use super::slices::{Slice, per_second, slices};

/// The quantiles that are reported.
const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
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
    /// Whether the run ended early because every attempt to connect failed for the time-out.
    pub given_up: bool,
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

/// What was measured beside the calls.
#[derive(Debug)]
pub(super) struct Measured {
    /// When the test began.
    pub(crate) begun: Instant,
    /// CPU time of this process during the test.
    pub(crate) cpu: Duration,
    /// Nanoseconds of all calls that succeeded.
    pub(crate) histogram: Histogram<u64>,
}

/// The CPU time of this process.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl LoadOutcome {
    pub(super) fn new(
        plan: &LoadTest,
        calls: &[HttpCall],
        whole: &MergedRun,
        measured: Measured,
    ) -> Self {
        let Measured { begun, cpu, histogram } = measured;
        let warm_up_ns = plan.warm_up.as_nanos() as f64;
        let seconds = whole.report.seconds;
        let succeeded = whole.offered - whole.report.doubtful;
        let milliseconds =
            |of: fn(&SampledCall) -> u64| whole.calls.iter().map(move |call| of(call) as f64 / 1e6);
        let latency = Sorted::of(milliseconds(|call| call.latency_ns));
        let service = Sorted::of(milliseconds(|call| call.service_ns));
        let is_open = !matches!(plan.pace, Pacing::Closed { .. });
        let late = |q| whole.report.late.value_at_quantile(q) as f64 / 1e3;
        let series = whole.series(calls, warm_up_ns, is_open);
        let mut outcome = Self {
            name: series.name.clone(),
            kind: if is_open { "open" } else { "closed" },
            seconds,
            intended_rate: plan.rate(),
            rate: per_second(succeeded as f64, seconds),
            succeeded,
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
            given_up: whole.has_given_up,
            kept: whole.calls.len(),
            slices: Vec::new(),
            notes: Vec::new(),
            series,
            histogram,
        };
        if plan.changes_its_rate() {
            outcome.slices = slices(whole, warm_up_ns);
        }
        outcome.notes = outcome.remarks(plan, whole, begun);
        outcome.series.notes.clone_from(&outcome.notes);
        outcome
    }

    /// Returns how many calls failed.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    fn remarks(&self, plan: &LoadTest, whole: &MergedRun, begun: Instant) -> Vec<String> {
        let mut notes = Vec::new();
        let service_ms = self.service_ms.quantiles.first().map_or(0.0, |median| median.ms);
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
        if whole.report.doubtful > 0 {
            notes.push(format!(
                "{} calls count as failed, and their latencies as measured: later more came on \
                 their connections than was asked for, so a reply may be another call's",
                whole.report.doubtful
            ));
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
        let is_kept = self.succeeded > self.connections as u64;
        if is_kept && waits_for_acknowledgements(self.service_ms.min, service_ms) {
            notes.push(
                "half of the calls took 40 ms longer than the fastest: on a kept connection such \
                 steps are delayed acknowledgements, where a server writes the head of a reply and \
                 its body apart, without TCP_NODELAY"
                    .to_owned(),
            );
        }
        if (self.kept as u64) < whole.offered {
            notes.push(format!(
                "quantiles and verdicts are of {} calls, a random sample of {}",
                self.kept, whole.offered
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

/// Whether a service time is as much above the least as Linux holds acknowledgements back: 40 ms,
/// and what its timers take beside that.
fn waits_for_acknowledgements(least_ms: f64, median_ms: f64) -> bool {
    (38.0..50.0).contains(&(median_ms - least_ms))
}

/// Whether calls are missing: a twentieth, and more than random arrivals are ever fewer.
fn is_short(succeeded: u64, intended: f64) -> bool {
    let missing = intended - succeeded as f64;
    missing > 0.05 * intended && missing > 4.0 * intended.sqrt()
}

#[cfg(test)]
mod tests;
