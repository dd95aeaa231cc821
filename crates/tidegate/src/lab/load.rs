//! Runs `tidegate lab load`: puts load on servers, shows how it goes, and reports.
//!
//! The plan comes from `lab/load/plan.rs`, the load from `lab::load_test`. The files are here:
//! percentiles, the interval log, and the calls for `lab report`.
//! Invariant: files are opened before the load begins: first the interval log, then percentiles and
//! calls. The interval log grows each second, the others are written after it. An error of the log
//! is told at the end; then there is no report, and the other files stay empty.
//! The first Ctrl-C ends the run with a report, the second ends the process. Without any call that
//! succeeded the command fails, after its report. So it does when the run was given up. A lack of
//! descriptors is no failure of the server's, and ends it without a report.
//! `--format json` is `load` beside the keys of a report, which scripts and `bench` read. Their
//! names are those of `lab::load_test::LoadOutcome` and `lab::Report`.

mod plan;
mod progress;

use std::io::{BufWriter, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use lab::bounds::{BoundOutcome, BoundSample};
use lab::load_test::{self, LoadOutcome, Second};
use lab::{IntervalLog, LabError, Report, ReportOptions};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use verdicts::Sorted;

use super::fail_if;
use super::misuse::misused;
use crate::cli::{FailIfArgs, LoadArgs};
use crate::hint::Hint;
use crate::output;

const NOBODY_THERE: Hint = Hint("does the server run, and at this port? try `curl -i URL`");
const COMPARED: &str = "keep two runs by `--save`, and compare them by `tidegate lab report`";
const SECOND: Duration = Duration::from_secs(1);

/// Runs the load and prints the report.
///
/// # Errors
/// When the load could not begin, no call succeeded, or a bound is not kept.
pub(super) fn run(args: &LoadArgs) -> Result<()> {
    let bounds = FailIfArgs { fail_if: args.fail_if.clone() };
    fail_if::check(&bounds, false, COMPARED).map_err(misused)?;
    let (plan, calls) = plan::of(args, interruption()?).map_err(misused)?;
    let mut files = Files::create(args)?;
    let mut progress = progress::LoadProgress::new(&plan);
    let mut log_error = None;
    let outcome = plan.run(calls.all(), &mut |second| {
        progress.show(second);
        if let Err(error) = files.log(second) {
            log_error.get_or_insert(error);
        }
    });
    let loaded = outcome.map_err(|error| match &error {
        // A handshake that failed says by itself why.
        LabError::Load(load::LoadError::Connect { source, .. })
            if source.kind() != ErrorKind::Other =>
        {
            anyhow::Error::new(error).context(NOBODY_THERE)
        }
        _ => error.into(),
    })?;
    if let Some(error) = log_error {
        return Err(error);
    }
    files.finish(&loaded)?;
    progress.judge();
    let options = ReportOptions { seed: args.seed, ..ReportOptions::default() };
    let verdicts = (!args.no_verdict).then(|| Report::new(&loaded.series, &options));
    drop(progress);
    report(args, &bounds, &loaded, verdicts)
}

/// Becomes true with the first Ctrl-C; the second ends the process.
fn interruption() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let installed = signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)));
        installed.context("install signal handlers")?;
    }
    Ok(flag)
}

fn report(
    args: &LoadArgs,
    bounds: &FailIfArgs,
    loaded: &LoadOutcome,
    verdicts: Option<Report<'_>>,
) -> Result<()> {
    let times = Sorted::new(&loaded.series.total_ms);
    let sample = BoundSample {
        name: "",
        times: &times,
        max_ms: loaded.latency_ms.max,
        succeeded: loaded.succeeded,
        failed: loaded.failures(),
        change: None,
    };
    let bounds = if loaded.succeeded > 0 { fail_if::judge(bounds, &[sample]) } else { Vec::new() };
    if args.format == "json" {
        let whole = LoadReport { load: loaded, bounds: &bounds, report: verdicts.as_ref() };
        output::print(&(serde_json::to_string_pretty(&whole)? + "\n"))?;
        fail_if::warn(&bounds);
    } else {
        let style = output::style();
        let text = load_test::text(loaded, &style);
        let rest = match verdicts.filter(|_| loaded.succeeded > 0) {
            Some(mut verdicts) => {
                // It stands above already.
                verdicts.name = "";
                format!("\n{}", verdicts.to_text(&style))
            }
            None => load_test::notes(loaded, &style),
        };
        output::print(&(text + &rest + &fail_if::text(&bounds, &style)))?;
    }
    if loaded.succeeded == 0 {
        let reasons: Vec<String> =
            loaded.failed.iter().map(|(words, count)| format!("{count} {words}")).collect();
        bail!("no call succeeded: {}", reasons.join(", "));
    }
    let timeout = args.timeout;
    ensure!(
        !loaded.given_up,
        "the run was given up: every attempt to connect failed for {timeout}"
    );
    fail_if::end(&bounds)
}

/// What `--format json` prints: how the load went, and what can be said of its calls.
#[derive(Serialize)]
struct LoadReport<'a> {
    load: &'a LoadOutcome,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    bounds: &'a [BoundOutcome],
    #[serde(flatten)]
    report: Option<&'a Report<'a>>,
}

/// What is written beside the report.
struct Files {
    hgrm: Option<std::fs::File>,
    hlog: Option<IntervalLog<BufWriter<std::fs::File>>>,
    save: Option<std::fs::File>,
    warm_up: Duration,
}

impl Files {
    fn create(args: &LoadArgs) -> Result<Self> {
        let hlog = args.hlog.as_deref().map(output::create).transpose()?;
        let begin = |file| IntervalLog::new(BufWriter::new(file), SystemTime::now());
        Ok(Self {
            hgrm: args.hgrm.as_deref().map(output::create).transpose()?,
            hlog: hlog.map(begin).transpose().context("write the interval log")?,
            save: args.save.as_deref().map(output::create).transpose()?,
            warm_up: args.warm_up.0,
        })
    }

    fn log(&mut self, second: &Second) -> Result<()> {
        let Some(log) = &mut self.hlog else { return Ok(()) };
        let begins = self.warm_up + Duration::from_secs(second.index);
        log.interval(begins, SECOND, &second.latency).context("write the interval log")
    }

    fn finish(&mut self, loaded: &LoadOutcome) -> Result<()> {
        if let Some(file) = &mut self.hgrm {
            lab::write_percentiles(&loaded.histogram, file).context("write the distribution")?;
        }
        if let Some(file) = &mut self.save {
            lab::session_file::write(&[&loaded.series], false, file).context("keep the calls")?;
        }
        Ok(())
    }
}
