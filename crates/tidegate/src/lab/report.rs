//! Runs `tidegate lab report`: reads measurements from one place or several, and prints a report.
//!
//! Several `--from` become one series. A source of two targets is a comparison, one of more a
//! table, and neither can be joined with others. With `--vs`, the first series of each side is
//! compared, in pairs only under `--paired`. Filter and times are read here, times by `moment` of
//! `events/time.rs`.
//! Invariant: wrong arguments are wrong usage; a source that cannot be read is a failure. `bench`
//! reads what `--format json` prints. A file of `--output` is replaced after reading, so an error
//! before leaves it as it was.
//! Never here: where sources lie (`lab/report/source.rs`), formats and figures (the crate `lab`).

mod source;

use anyhow::{Context, Result, anyhow, bail};
use exchange::Filter;
use lab::import::ReadOptions;
use lab::session_file::SeriesSet;
use lab::{Report, ReportOptions, TargetsReport};
use verdicts::Series;

use super::fail_if;
use super::misuse::misused;
use super::written;
use crate::cli::ReportArgs;
use crate::events::time::moment;

const COMPARED: &str = "`--vs FILE`, or a file of two targets";

/// `tidegate lab report`
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let reading = reading(args).map_err(misused)?;
    let is_compared = args.vs.is_some() || args.from.len() == 1;
    fail_if::check(&args.bounds, is_compared, COMPARED).map_err(misused)?;
    let mut found = together(args, &reading)?;
    let signals = found.signals.take();
    let options = ReportOptions {
        seed: args.seed,
        slow_over_ms: args.slow.map(|slow| slow.0.as_secs_f64() * 1000.0),
    };
    if found.series.len() > 2 && args.vs.is_none() {
        return targets(args, &found, &options);
    }
    let (series, other, is_paired) = match (&args.vs, found) {
        (None, SeriesSet { mut series, is_paired, .. }) => {
            let other = (series.len() == 2).then(|| series.pop()).flatten();
            (series.pop().unwrap_or_default(), other, is_paired)
        }
        (Some(vs), mut found) => {
            let mut other = source::read(vs, &args.config, args.target.as_deref(), &reading)?;
            found.series.truncate(1);
            other.series.truncate(1);
            let series = found.series.pop().unwrap_or_default();
            (series, other.series.pop(), args.paired)
        }
    };
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

/// Several files of calls to one thing as one series; a file of two targets stands alone.
fn together(args: &ReportArgs, reading: &ReadOptions) -> Result<SeriesSet> {
    let mut all = Vec::new();
    for from in &args.from {
        all.push(source::read(from, &args.config, args.target.as_deref(), reading)?);
    }
    if let [one] = &mut all[..] {
        return Ok(std::mem::take(one));
    }
    let mut whole = Series { name: args.from.join(", "), ..Series::default() };
    for (from, found) in args.from.iter().zip(all) {
        let mut series = found.series.into_iter();
        match (series.next(), series.next()) {
            (Some(series), None) => whole.append(series),
            _ => {
                bail!("read `{from}`: it holds several targets, which cannot be joined with others")
            }
        }
    }
    Ok(SeriesSet { series: vec![whole], ..SeriesSet::default() })
}

fn reading(args: &ReportArgs) -> Result<ReadOptions> {
    let moment = |text: &String| moment(text).map(|micros| micros as f64 / 1000.0);
    Ok(ReadOptions {
        is_strict: args.strict,
        filter: args.filter.as_deref().map(Filter::parse).transpose().context("--where")?,
        since_unix_ms: args.since.as_ref().map(moment).transpose().context("--since")?,
        until_unix_ms: args.until.as_ref().map(moment).transpose().context("--until")?,
    })
}
