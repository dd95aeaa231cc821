//! Adds up what the threads of a load test did, as one run, and makes the series of its calls.
//!
//! The steps of an open loop are `queue` and `service`; a closed loop has none. `queue` stays
//! first: to `verdicts` the first step may be where calls are admitted. Attributes are the status,
//! the bytes if they differ, and the URL where there are 2 to 1,000 of them. Their names are stored
//! in files of `--save`.
//! `is_late` says whether the generator itself was late; docs/lab/load.md repeats its two bounds.
//! Invariant: the sample is one of all threads. Its times count from the beginning of the first
//! thread, those of the series from the end of the warm-up. Failures by second count from each
//! thread's own.
//! A new count of a thread is lost unless `MergedRun::of` adds it. One thread is noted in
//! `recorder.rs`; the sample is kept in `sample.rs`, figures are computed in `outcome.rs`.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

use load::Report;
use verdicts::{Attribute, AttributeValues, LeftOut, PhaseColumn, Series, Sorted};

use super::calls::HttpCall;
use super::recorder::{Recorder, UNASKED};
use super::sample::{CallSample, SampledCall};

/// URLs that are listed as an attribute at most.
const NAMES_MAX: usize = 1000;
/// A generator that is late by less than this is late by what a timer costs.
const LATE_US_MIN: u64 = 200;

/// What one thread did.
#[derive(Debug)]
pub(crate) struct ThreadOutcome<'a> {
    pub(crate) report: Report,
    pub(crate) recorder: Recorder<'a>,
}

/// The calls of all threads put together.
pub(super) struct MergedRun {
    pub(super) report: Report,
    pub(super) calls: Vec<SampledCall>,
    /// Calls that succeeded; `calls` are a sample of them.
    pub(super) offered: u64,
    pub(super) failed: BTreeMap<String, u64>,
    pub(super) failed_by_second: Vec<u64>,
    /// Calls that were made, those of the warm-up too.
    pub(super) made: u64,
    pub(super) last_success_ns: u64,
    /// The greatest latency, and the greatest service time.
    pub(super) max_ns: [u64; 2],
    pub(super) has_given_up: bool,
    pub(super) began: Option<(Instant, SystemTime)>,
}

impl MergedRun {
    /// Puts the outcomes of all threads together, with a sample of `kept_max` calls.
    pub(super) fn of(parts: Vec<ThreadOutcome<'_>>, kept_max: usize) -> Self {
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
            let later = recorder.began.zip(began).map(|(its, first)| its.0 - first.0);
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
        // Beside the calls of the recorders: connections without a call, and doubtful replies.
        let unasked = whole.report.errors.unasked + whole.report.doubtful;
        if unasked > 0 {
            whole.failed.insert(UNASKED.to_owned(), unasked);
        }
        (whole.calls, whole.offered) = sample.finish();
        whole
    }

    /// Whether the generator was late: by more than a tenth of the median latency, and by more than
    /// a timer's whim.
    pub(super) fn is_late(&self, latency: &Sorted) -> bool {
        let late_us = self.report.late.value_at_quantile(0.99);
        late_us > LATE_US_MIN && late_us as f64 / 1e3 > 0.1 * latency.median()
    }

    /// Returns the calls as a series.
    pub(super) fn series(&self, calls: &[HttpCall], warm_up_ns: f64, is_open: bool) -> Series {
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
            ..Series::default()
        }
    }
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
