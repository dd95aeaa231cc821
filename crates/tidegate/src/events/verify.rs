//! Runs `tidegate events verify`: says whether each SQL sink holds what the logs say.
//!
//! A sink is copied first (`copy.rs`), so it is compared as of one moment, also while it is being
//! filled. Only lines up to the copy's checkpoints are counted. `recount` counts them and compares;
//! this file prints.
//! Invariant: sinks and logs are not changed. A reader who leaves ends nothing, for the copy must
//! go. The command fails if one rollup differs, and if there was none to compare. Sinks without SQL
//! are named and left out.
//! README.md and docs/operating/verify-and-replay.md show the lines that are printed.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use pipeline::{SinkPlan, SourcePlan};
use recount::{RecountError, RollupComparison, SinkContents, SinkRecount};

use super::copy::SinkCopy;
use crate::commands;
use crate::config::Plan;
use crate::hint::Hint;
use crate::output;
use crate::progress::Progress;

const REASONS: Hint = Hint(
    "a rollup that came or changed after its source was first read makes a difference too \
     (`tidegate events replay` counts what came before), and so do log files that were deleted \
     since, and another journal under the same `node`; `tidegate events inspect` shows what a \
     line becomes",
);

const AGAIN: Hint = Hint("the log was rotated meanwhile: run it again");

/// Compares every rollup of every SQL sink; prints a line for each.
///
/// # Errors
/// When one differs, or its log cannot be counted again.
pub(super) fn command(file: &Path) -> Result<()> {
    let plan = commands::load(file)?;
    let (mut compared, mut different) = (0, 0);
    for sink in &plan.events.sinks {
        if !sinks::runs_queries(&sink.url) {
            say(&format!("sink {}: not compared, its engine knows no SQL", sink.name))?;
            continue;
        }
        let comparisons = compare(&plan, sink)?;
        comparisons.iter().try_for_each(print)?;
        compared += comparisons.len();
        different += comparisons.iter().filter(|one| one.first.is_some()).count();
    }
    ensure!(compared > 0, "`{}` has no rollup in a SQL sink to compare", file.display());
    if different > 0 {
        let error = anyhow!("{different} of {compared} rollups differ from what the log holds");
        return Err(error.context(REASONS));
    }
    Ok(())
}

fn compare(plan: &Plan, sink: &SinkPlan) -> Result<Vec<RollupComparison>> {
    let tables = SinkRecount::tables(&plan.events, sink);
    let copy = SinkCopy::of(plan, sink, &tables, (None, None))?;
    let contents = SinkContents { url: copy.url(), checkpoints: copy.checkpoints.clone() };
    let journal = plan.journal.as_ref().map(|journal| &*journal.options.dir);
    let mut recount = SinkRecount::new(&plan.events, journal, sink, contents);
    for source in recount.sources().collect::<Vec<_>>() {
        let counted = count(&mut recount, source, sink);
        counted.with_context(|| format!("recount `{}`", source.name))?;
    }
    Ok(recount.compare()?)
}

fn count(recount: &mut SinkRecount<'_>, source: &SourcePlan, sink: &SinkPlan) -> Result<()> {
    let progress = Progress::new("recounting");
    let counted = recount.count(source, |done, total| progress.set(done, total));
    drop(progress);
    let counted = match counted {
        Err(error @ RecountError::Rotated) => return Err(anyhow!(error).context(AGAIN)),
        counted => counted?,
    };
    let (name, sink) = (&source.name, &sink.name);
    let (lines, bytes) = (counted.lines, counted.bytes);
    say(&format!("{name} to {sink}: {lines} lines, {bytes} bytes counted again"))?;
    let (refused, quarantined) = (counted.refused, counted.quarantined);
    if refused > 0 {
        let kept = format!("{quarantined} of those are in quarantine");
        say(&format!("{name}: {refused} of them are refused, {kept}"))?;
    }
    if counted.gone > 0 {
        say(&format!("{name}: {} bytes that were counted are gone", counted.gone))?;
    }
    Ok(())
}

fn print(compared: &RollupComparison) -> Result<()> {
    let RollupComparison { name, rows, different, shared, without_key, .. } = compared;
    match &compared.first {
        None if *rows == 1 => say(&format!("{name}: 1 row agrees with the log")),
        None => say(&format!("{name}: {rows} rows agree with the log")),
        Some(first) => say(&format!("{name}: {different} of {rows} rows differ, first {first}")),
    }?;
    if *shared > 0 {
        let others = compared.others.join("`, `");
        say(&format!("{name}: {shared} aggregates are not compared, `{others}` adds to them"))?;
    }
    if *without_key > 0 {
        say(&format!("{name}: {without_key} lines lack a number of its key"))?;
    }
    Ok(())
}

/// A line, at once: the next one may take minutes.
fn say(line: &str) -> Result<()> {
    output::print_cleaned(&format!("{line}\n"))
}
