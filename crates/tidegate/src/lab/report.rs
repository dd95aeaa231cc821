//! Runs `tidegate lab report`: reads measurements from one place or several, and prints a report.
//!
//! A source of two targets is a comparison, one of more a table. With `--vs`, the first series of
//! each side is compared, in pairs only under `--paired`.
//! Invariant: wrong arguments are wrong usage; a source that cannot be read is a failure. `bench`
//! reads what `--format json` prints. A file of `--output` is replaced after reading, so an error
//! before leaves it as it was.
//! Never here: where sources lie and what is taken of them (`lab/report/source.rs`), formats and
//! figures (the crate `lab`).

pub(super) mod source;

use anyhow::{Result, anyhow};
use lab::session_file::SeriesSet;
use lab::{Report, ReportOptions, TargetsReport};
use verdicts::Series;

use super::fail_if;
use super::misuse::misused;
use super::written;
use crate::cli::ReportArgs;

const COMPARED: &str = "`--vs FILE`, or a file of two targets";

/// `tidegate lab report`
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    // Whether a file has two targets is known once it is read.
    let may_compare = args.vs.is_some() || args.source.from.len() == 1;
    fail_if::check(&args.bounds, may_compare, COMPARED).map_err(misused)?;
    let reading = source::reading(&args.source).map_err(misused)?;
    let mut found = source::together(&args.source, &reading)?;
    let signals = found.signals.take();
    let options = source::options(&args.source);
    if found.series.len() > 2 && args.vs.is_none() {
        return targets(args, &found, &options);
    }
    let (series, other, is_paired) = match (&args.vs, found) {
        (None, SeriesSet { mut series, is_paired, .. }) => {
            let other = (series.len() == 2).then(|| series.pop()).flatten();
            (series.pop().unwrap_or_default(), other, is_paired)
        }
        (Some(vs), mut found) => {
            let mut other = source::read(vs, &args.source, &reading)?;
            found.series.truncate(1);
            other.series.truncate(1);
            let mut series = found.series.pop().unwrap_or_default();
            let mut other = other.series.pop();
            if let Some(other) = other.as_mut().filter(|other| other.name == series.name) {
                // Two measurements of one target are told apart by their files.
                series.name = format!("{} ({})", series.name, args.source.from.join(", "));
                other.name = format!("{} ({vs})", other.name);
            }
            (series, other, args.paired)
        }
    };
    fail_if::check(&args.bounds, other.is_some(), COMPARED).map_err(misused)?;
    let mut report = match &other {
        Some(other) => Report::versus(&series, other, is_paired, &options),
        None => Report::new(&series, &options),
    };
    if let Some(signals) = &signals {
        report = report.with_signals(signals, options.slow_over_ms, options.seed);
    }
    if let Some(trace) = &args.strace {
        report = report.with_trace(super::strace::read(trace)?);
    }
    let both: Vec<&Series> = [&series].into_iter().chain(&other).collect();
    let bounds = fail_if::of_series(&args.bounds, &both, &report);
    written::write(&args.written, |style| match args.format.as_str() {
        "json" => fail_if::json(&report, &bounds),
        "html" => report.to_html(),
        _ => report.to_text(style) + &fail_if::text(&bounds, style),
    })?;
    if args.format != "text" {
        fail_if::warn(&bounds);
    }
    fail_if::end(&bounds)
}

/// Reports on the targets of one probe, which were called in turns.
fn targets(args: &ReportArgs, found: &SeriesSet, options: &ReportOptions) -> Result<()> {
    if args.format == "html" {
        return Err(misused(anyhow!("a page is of one target or two; write text or JSON")));
    }
    let report = TargetsReport::new(&found.series, found.is_paired, options);
    let bounds = fail_if::of_targets(&args.bounds, &report);
    written::write(&args.written, |style| match args.format.as_str() {
        "json" => fail_if::json(&report, &bounds),
        _ => report.to_text(style) + &fail_if::text(&bounds, style),
    })?;
    if args.format != "text" {
        fail_if::warn(&bounds);
    }
    fail_if::end(&bounds)
}
