//! Judges a probe as a plug-in of Nagios and its like: one line, and an exit code that is a state.
//!
//! One percentile is compared with `--warn` and `--crit`; a failed call is a warning at least.
//! Without any call that succeeded the state is critical, and without any call at all it is
//! unknown.
//! Invariant: the states' numbers are the exit codes. There is at most one bar in the line, and
//! performance data behind it; bars in reasons of failures become slashes. Without a success there
//! is no performance data.
//! Monitors draw graphs by the labels of performance data (`p95`, `failed`) and their unit, so
//! these stay. `lab probe exec:` reads them and the state's word (`probe/command.rs` of `lab`).
//! Other words before the bar may change, with docs/lab/probe.md. `lab/probe.rs` begins its lines
//! with the same words, for errors, which it makes UNKNOWN.
//! Source: Nagios Plugin Development Guidelines.

use std::fmt;
use std::fmt::Write as _;

use verdicts::{Series, Sorted};

use crate::cli::PluginArgs;

/// What a plug-in says of a target; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Ok = 0,
    Warning = 1,
    Critical = 2,
    Unknown = 3,
}

/// Quantiles among the performance data, beside the one that is judged.
const SHOWN: [f64; 3] = [50.0, 95.0, 99.0];

/// The state of what was measured, and the line that says it.
pub(super) fn judge(series: &Series, args: &PluginArgs) -> (State, String) {
    let failed = series.left_out.total();
    let calls = series.len() as u64 + failed;
    if series.is_empty() {
        let state = if calls == 0 { State::Unknown } else { State::Critical };
        return (state, format!("LAB {state} - {}", none(series, calls)));
    }
    let sorted = Sorted::new(&series.total_ms);
    let ms = sorted.quantile(args.percentile / 100.0).ms;
    let limit = |span: Option<stdx::Span>| span.map(|span| span.0.as_secs_f64() * 1e3);
    let (warn, crit) = (limit(args.warn), limit(args.crit));
    let is_over = |limit: Option<f64>| limit.is_some_and(|limit| ms > limit);
    let state = match () {
        () if is_over(crit) => State::Critical,
        () if is_over(warn) || failed > 0 => State::Warning,
        () => State::Ok,
    };
    let mut line = format!("LAB {state} - p{} {ms:.1} ms of {calls} calls", args.percentile);
    if failed > 0 {
        write!(line, ", {failed} failed: {}", reasons(series)).expect("a string takes it");
    }
    line.push_str(" |");
    let mut shown = SHOWN.to_vec();
    if !shown.contains(&args.percentile) {
        shown.push(args.percentile);
    }
    for percentile in shown {
        let ms = sorted.quantile(percentile / 100.0).ms;
        let is_judged = percentile == args.percentile;
        let limit = |limit: Option<f64>| limit.filter(|_| is_judged).map(|ms| ms.to_string());
        let (warn, crit) = (limit(warn).unwrap_or_default(), limit(crit).unwrap_or_default());
        write!(line, " p{percentile}={ms:.3}ms;{warn};{crit};0;").expect("a string takes it");
    }
    write!(line, " failed={failed};0;;0;{calls}").expect("a string takes it");
    (state, line)
}

fn none(series: &Series, calls: u64) -> String {
    match calls {
        0 => "no call was made".to_owned(),
        _ => format!("{calls} of {calls} calls failed: {}", reasons(series)),
    }
}

/// Without a bar, behind which monitors expect numbers.
fn reasons(series: &Series) -> String {
    let reasons = series.left_out.failed.iter();
    let texts: Vec<String> = reasons.map(|(words, count)| format!("{count} × {words}")).collect();
    texts.join(", ").replace('|', "/")
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        })
    }
}

#[cfg(test)]
mod tests;
