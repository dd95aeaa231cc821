//! Cuts a run whose rate changes into at most ten pieces, to show where it stopped keeping up.
//!
//! Pieces are whole seconds, all of one length but the last, which ends with the last call.
//! Invariant: a call belongs to the piece in which it was meant to be made, whenever it ended.
//! Failures are counted; successes are scaled up from the sample, and quantiles are of the sample.
//! `plan.rs` says whether the rate changes; `text.rs` prints the table. The fields of [`Slice`] are
//! keys of `slices` in `lab load --format json`. The page docs/lab/load.md speaks of ten pieces.

use serde::Serialize;
use verdicts::Sorted;

use super::merged::MergedRun;
use super::sample::SampledCall;

/// Pieces, at most.
const SLICES: usize = 10;

/// A piece of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    /// Seconds from the end of the warm-up to its beginning and to its end.
    pub seconds: [f64; 2],
    /// Calls per second that were meant to be made in it.
    pub intended_rate: f64,
    /// How many of those per second succeeded.
    pub rate: f64,
    /// Calls that were meant to be made in it and failed.
    pub failed: u64,
    /// Median latency of the others.
    pub p50_ms: f64,
    /// Their 99th percentile.
    pub p99_ms: f64,
}

/// Returns the run in pieces of equal length, by the intended times of its calls.
pub(super) fn slices(run: &MergedRun, warm_up_ns: f64) -> Vec<Slice> {
    let seconds = intended_seconds(run, warm_up_ns);
    // Failures are known by the second, so a slice is whole seconds.
    let length = (seconds / SLICES as f64).ceil().max(1.0);
    let count = (seconds / length).ceil().max(1.0) as usize;
    let weight = run.offered as f64 / run.calls.len().max(1) as f64;
    let slice = |number: usize| {
        let from = number as f64 * length;
        let is_last = number + 1 == count;
        let to = if is_last { seconds } else { from + length };
        let at = |call: &&SampledCall| (call.intended_ns as f64 - warm_up_ns) / 1e9;
        let within: Vec<&SampledCall> = run
            .calls
            .iter()
            .filter(|call| at(call) >= from && (at(call) < to || is_last))
            .collect();
        let failed = run.failed_by_second.iter().skip(from as usize);
        let failed = failed.take((to - from).ceil() as usize);
        let failed: u64 = failed.sum();
        let latency = Sorted::of(within.iter().map(|call| call.latency_ns as f64 / 1e6));
        let succeeded = within.len() as f64 * weight;
        Slice {
            seconds: [from, to],
            intended_rate: per_second(succeeded + failed as f64, to - from),
            rate: per_second(succeeded, to - from),
            failed,
            p50_ms: latency.median(),
            p99_ms: latency.at(0.99),
        }
    };
    (0..count).map(slice).collect()
}

/// Returns how long calls were meant to be made. The last replies come later, and make no slice of
/// their own, however late they are.
fn intended_seconds(run: &MergedRun, warm_up_ns: f64) -> f64 {
    let last_call = run.calls.iter().map(|call| (call.intended_ns as f64 - warm_up_ns) / 1e9);
    let last_failure = run.failed_by_second.iter().rposition(|failed| *failed > 0);
    let last_failure = last_failure.map_or(0.0, |second| (second + 1) as f64);
    let end = last_call.fold(last_failure, f64::max);
    if end > 0.0 { end.min(run.report.seconds) } else { run.report.seconds }
}

/// A rate; of no time, none.
pub(super) fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests;
