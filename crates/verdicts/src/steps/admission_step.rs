//! Decides whether pauses from outside explain that one step has more slow-downs than its share.
//!
//! It is the step in which the server admits calls: the first, `wait`, or what no step covers. What
//! strikes from outside lasts. It slows the calls under way, each in the step that it is in. Those
//! that arrive meanwhile wait where the server would take them up. A stop of 200 ms before calls of
//! 20 ms is met there ten times as often as on the way.
//! Invariant: a step is excused up to the one-sided 99 % bound of what such pauses would give it.
//! Without slow-downs elsewhere none is.
//!
//! `steps.rs` asks only where the other steps say "outside" by themselves, and excuses one step at
//! most. The name `wait` comes from `lab`: `probe/gather.rs` (`ORDER`), `import/nginx.rs` and
//! `import/generators`. The first step is the first column, so the order of columns counts.
//! docs/lab/verdicts.md states the rule.

use crate::series::Series;

use super::columns::{StepColumn, UNTRACKED};
use super::slowdowns::Slowdowns;

/// One-sided 1 % of a normal distribution.
const BEYOND: f64 = 2.326;
/// Two-sided 5 % of it.
const EITHER: f64 = 1.96;

/// Returns whether a server may admit calls in a step: the wait for its answer, what no step
/// covers, or the first step.
pub(super) fn may_admit(columns: &[StepColumn<'_>], at: usize) -> bool {
    at == 0 || ["wait", UNTRACKED].contains(&columns[at].name)
}

/// Returns whether pauses that strike the steps `others` at random explain the slow-downs of the
/// step `at`. Every call meets them there, at their rate, in its time and in what is left of a
/// pause.
pub(super) fn explains(found: &Slowdowns, others: &[usize], at: usize, series: &Series) -> bool {
    let of = |what: &[f64]| others.iter().map(|at| what[*at]).sum::<f64>();
    let count: u64 = others.iter().map(|at| found.counts[*at]).sum();
    let (count, calls) = (count as f64, series.len() as f64);
    let rate = count / of(&found.exposures_ms);
    let pause = of(&found.lost_ms) / count;
    let spread = (of(&found.lost_squares) / count - pause * pause).max(0.0).sqrt();
    let pause_max = pause + EITHER * spread / count.sqrt();
    let seen = (pause_max - found.beyond_ms[at]).max(0.0);
    let expected = rate * (found.exposures_ms[at] + calls * seen);
    // A pause catches several calls at a time, as many as arrive while it lasts.
    let (low, high) =
        series.began_ms.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), began| {
            (low.min(*began), high.max(*began))
        });
    let caught = if high > low { calls * pause / (high - low) } else { 0.0 };
    let variance = expected * (1.0 + caught) + expected * expected / count;
    found.counts[at] as f64 <= expected + BEYOND * variance.sqrt()
}
