//! Cuts a run whose rate changes into at most ten pieces, to show where it stopped keeping up.
//!
//! Pieces are whole seconds, all of one length but the last.
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
    let seconds = run.report.seconds;
    // Failures are known by the second, so a slice is whole seconds.
    let length = (seconds / SLICES as f64).ceil().max(1.0);
    // The last reply comes a little later than the last call: that is no slice of its own.
    let count = ((seconds - 0.1 * length) / length).ceil().max(1.0) as usize;
    let weight = run.offered as f64 / run.calls.len().max(1) as f64;
    let slice = |number: usize| {
        let from = number as f64 * length;
        let to = if number + 1 < count { from + length } else { seconds };
        let at = |call: &&SampledCall| (call.intended_ns as f64 - warm_up_ns) / 1e9;
        let within: Vec<&SampledCall> =
            run.calls.iter().filter(|call| at(call) >= from && at(call) < to).collect();
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

/// A rate; of no time, none.
pub(super) fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}
