//! Holds what a trace was found to say, in figures; `words.rs` says it in sentences.

use serde::Serialize;

use super::bins::{LatencyBins, LatencyPeak};
use super::census::TraceCounts;
use super::family::ChildTotals;
use super::ledger::{CallTarget, FileTotals};
use super::requests::RequestSummary;
use super::stacks::StackSummary;
use super::syscalls::SyscallTotals;
use super::threads::TraceState;
use super::waits::WaitTotals;

/// What a trace says.
#[derive(Debug, Clone, Serialize)]
pub struct StraceReport {
    /// What was read.
    pub counts: TraceCounts,
    /// The requests that were recognised; none where none was.
    pub requests: Option<RequestSummary>,
    /// What requests waited for, the longest first.
    pub on_path: Vec<OnPathTime>,
    /// Each system call, the longest first.
    pub syscalls: Vec<SyscallSummary>,
    /// Waits with a timeout, the longest first.
    pub waits: Vec<WaitTotals>,
    /// What was done to files, those first that requests waited for, then by bytes written.
    pub files: Vec<FileTotals>,
    /// Children by command.
    pub children: Vec<ChildTotals>,
    /// Long calls by their stack.
    pub stacks: Vec<StackSummary>,
    /// The latencies of each call, for drawings.
    #[serde(skip)]
    pub(super) bins: Vec<LatencyBins>,
}

/// Time of one system call with one target, within requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnPathTime {
    /// The system call.
    pub call: String,
    /// A path, `socket`, `pipe`, `child`, `timer`, or `-`.
    pub target: String,
    /// How many calls.
    pub calls: u64,
    /// Seconds in all.
    pub total_s: f64,
    /// Share of the time of all requests.
    pub share: f64,
}

/// One system call in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SyscallSummary {
    /// Its name.
    pub name: String,
    /// How often it returned.
    pub calls: u64,
    /// Errors by name, with how often.
    pub errors: Vec<(String, u64)>,
    /// Seconds in all; nothing where the trace has no times of calls.
    pub total_s: Option<f64>,
    /// Seconds within requests.
    pub on_path_s: f64,
    /// The median in milliseconds.
    pub p50_ms: Option<f64>,
    /// One in a hundred took longer.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Where latencies gather.
    pub peaks: Vec<LatencyPeak>,
    /// Whether it waits, so that its time alone says nothing.
    pub waits: bool,
}

impl StraceReport {
    pub(super) fn new(state: TraceState) -> Self {
        let requests = state.requests.summary();
        let total_s = requests.as_ref().map_or(0.0, |requests| requests.total_s);
        let target = |target: CallTarget| match target {
            CallTarget::File(file) => state.ledger.files[file].path.clone(),
            CallTarget::Socket => "socket".to_owned(),
            CallTarget::Pipe => "pipe".to_owned(),
            CallTarget::Child => "child".to_owned(),
            CallTarget::Timer => "timer".to_owned(),
            CallTarget::None => "-".to_owned(),
        };
        let mut on_path: Vec<OnPathTime> = state
            .on_path
            .iter()
            .map(|((place, to), (calls, ns))| OnPathTime {
                call: state.syscalls.all[*place].name.clone(),
                target: target(*to),
                calls: *calls,
                total_s: *ns as f64 / 1e9,
                share: if total_s > 0.0 { *ns as f64 / 1e9 / total_s } else { 0.0 },
            })
            .collect();
        on_path.sort_by(|one, other| {
            let names = |it: &OnPathTime| (it.call.clone(), it.target.clone());
            other.total_s.total_cmp(&one.total_s).then_with(|| names(one).cmp(&names(other)))
        });
        let mut places: Vec<&SyscallTotals> = state.syscalls.all.iter().collect();
        places.sort_by(|one, other| {
            (other.total_ns, other.calls, &one.name).cmp(&(one.total_ns, one.calls, &other.name))
        });
        let syscalls = places.iter().map(|totals| summary(totals)).collect();
        let bins = places.iter().map(|totals| totals.bins.clone()).collect();
        let mut files = state.ledger.files;
        files.sort_by(|one, other| {
            other
                .on_path_s
                .total_cmp(&one.on_path_s)
                .then(other.bytes_written.cmp(&one.bytes_written))
                .then_with(|| one.path.cmp(&other.path))
        });
        let mut children = state.family.pairs;
        children.sort_by(|one, other| {
            other.lived_s.total_cmp(&one.lived_s).then_with(|| one.command.cmp(&other.command))
        });
        let (waits, stacks) = (state.waits.into_totals(), state.stacks.summaries());
        let counts = state.counts;
        Self { counts, requests, on_path, syscalls, waits, files, children, stacks, bins }
    }
}

fn summary(totals: &SyscallTotals) -> SyscallSummary {
    let is_timed = totals.timed > 0;
    // A bin reaches a little beyond what is in it.
    let max_ms = totals.max_ns as f64 / 1e6;
    let quantile_ms = |q| totals.bins.quantile_ms(q).map(|ms| ms.min(max_ms));
    SyscallSummary {
        name: totals.name.clone(),
        calls: totals.calls,
        errors: totals.errors.clone(),
        total_s: is_timed.then_some(totals.total_ns as f64 / 1e9),
        on_path_s: totals.on_path_ns as f64 / 1e9,
        p50_ms: quantile_ms(0.5),
        p99_ms: quantile_ms(0.99),
        max_ms: is_timed.then_some(max_ms),
        peaks: totals.bins.peaks(),
        waits: totals.waits(),
    }
}
