//! Holds what was measured against the bounds of `--fail-if`, and ends with their exit code.
//!
//! | code | is |
//! |---|---|
//! | 3 | a bound is exceeded |
//! | 4 | none is exceeded, but the calls are too few to tell of one |
//!
//! The sentences are printed at the end of text. Beside JSON, and where nothing is shown, those of
//! bounds that are not kept go to stderr. An error before, such as no call that succeeded, has its
//! own code, and no bound is looked at.
//! The codes also stand in the helps (`cli/lab`) and in docs/lab/fail-if.md. Never here: what a
//! bound means, which is `lab::bounds`'.

use anyhow::{Result, ensure};
use lab::bounds::{BoundOutcome, BoundSample, BoundState, FailBound};
use lab::{Report, TargetsReport};
use screen::{Ink, Style, wrapped};
use serde::Serialize;
use verdicts::{RelativeChange, Series, Sorted};

use crate::cli::FailIfArgs;
use crate::exit::Exit;

const EXCEEDED: u8 = 3;
const UNCLEAR: u8 = 4;

/// Refuses a bound on a comparison where there is none.
///
/// # Errors
/// Names the bound, and the option that would compare.
pub(super) fn check(args: &FailIfArgs, has_comparison: bool, how: &str) -> Result<()> {
    for bound in args.fail_if.iter().filter(|bound| bound.needs_comparison()) {
        ensure!(has_comparison, "`{bound}` needs something to compare with: {how}");
    }
    Ok(())
}

/// Holds the series of a report against bounds: each for itself, and the second beside the first.
pub(super) fn of_series(
    args: &FailIfArgs,
    series: &[&Series],
    report: &Report<'_>,
) -> Vec<BoundOutcome> {
    let change = report.versus.as_ref().and_then(|versus| versus.change.as_ref());
    let beside = |at: usize| change.filter(|_| at == 1);
    of_each(args, series.iter().enumerate().map(|(at, series)| (*series, beside(at))))
}

/// Holds each target against bounds.
pub(super) fn of_targets(args: &FailIfArgs, report: &TargetsReport<'_>) -> Vec<BoundOutcome> {
    of_each(args, report.targets.iter().map(|target| (target.series(), target.change.as_ref())))
}

fn of_each<'a>(
    args: &FailIfArgs,
    all: impl Iterator<Item = (&'a Series, Option<&'a RelativeChange>)>,
) -> Vec<BoundOutcome> {
    if args.fail_if.is_empty() {
        return Vec::new();
    }
    let all: Vec<_> = all.collect();
    let sorted: Vec<Sorted> = all.iter().map(|(series, _)| Sorted::new(&series.total_ms)).collect();
    let mut samples = Vec::with_capacity(all.len());
    for ((series, change), times) in all.iter().zip(&sorted) {
        samples.push(BoundSample {
            name: if all.len() > 1 { &series.name } else { "" },
            times,
            max_ms: times.at(1.0),
            succeeded: series.len() as u64 - series.server_errors,
            failed: series.left_out.failed.values().sum::<u64>() + series.server_errors,
            change: *change,
        });
    }
    judge(args, &samples)
}

/// Holds each sample against each bound; of a bound on a comparison, each but the first. One that
/// could not be compared cannot be told.
pub(super) fn judge(args: &FailIfArgs, samples: &[BoundSample<'_>]) -> Vec<BoundOutcome> {
    let of = |bound: &FailBound| {
        let fitting = samples.iter().skip(usize::from(bound.needs_comparison()));
        fitting.map(|sample| bound.judge(sample)).collect::<Vec<_>>()
    };
    args.fail_if.iter().flat_map(of).collect()
}

/// Returns the end of a text.
pub(super) fn text(outcomes: &[BoundOutcome], style: &Style) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", style.paint(Ink::Bold, "Bounds"));
    for outcome in outcomes {
        let ink = match outcome.state {
            BoundState::Kept => Ink::Fine,
            BoundState::Unclear => Ink::Plain,
            BoundState::Exceeded => Ink::Alarm,
        };
        for line in wrapped(&outcome.sentence, 2, style) {
            out += &(style.paint(ink, &line) + "\n");
        }
    }
    out
}

/// Returns a report as JSON, with what became of the bounds beside its keys.
pub(super) fn json(report: &impl Serialize, bounds: &[BoundOutcome]) -> String {
    #[derive(Serialize)]
    struct BoundedReport<'a, R> {
        #[serde(flatten)]
        report: &'a R,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        bounds: &'a [BoundOutcome],
    }
    let whole = BoundedReport { report, bounds };
    serde_json::to_string(&whole).expect("a report has text keys only") + "\n"
}

/// Says on stderr which bounds are not kept, where stdout has no text.
pub(super) fn warn(outcomes: &[BoundOutcome]) {
    for outcome in outcomes.iter().filter(|outcome| outcome.state != BoundState::Kept) {
        crate::output::tell!("{}", screen::clean(&outcome.sentence));
    }
}

/// Ends with the code of the worst bound.
///
/// # Errors
/// When a bound is exceeded, or cannot be told; everything has been printed then.
pub(super) fn end(outcomes: &[BoundOutcome]) -> Result<()> {
    match outcomes.iter().map(|outcome| outcome.state).max() {
        None | Some(BoundState::Kept) => Ok(()),
        Some(BoundState::Unclear) => Err(Exit(UNCLEAR).into()),
        Some(BoundState::Exceeded) => Err(Exit(EXCEEDED).into()),
    }
}
