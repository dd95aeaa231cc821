//! Runs `tidegate lab probe`: calls one target or several, and says what their latencies are like.
//!
//! It wires the plan (`lab/probe/plan.rs`), the calls (`lab::probe`), progress, the file of
//! `--save`, and the report. As a plug-in it prints one line (`lab/probe/plugin.rs`), and every
//! error is UNKNOWN. `soak` reads what `--format json` prints, and `bench` the file of `--save`.
//! Errors that clap finds come to `unknown` here by way of `lab.rs`.
//! Invariant: the file of `--save` is opened before the first call. Without a call that succeeded
//! the report is printed, and the exit code is 1, as after most errors; a plug-in's codes differ. A
//! signal ends the calls, and what was measured is reported; a second one does no more.

pub(super) mod plan;
mod plugin;
pub(super) mod progress;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use lab::bounds::BoundOutcome;
use lab::probe::{Plan, ProbeResult, ProbeTarget};
use lab::{LabError, Report, ReportOptions, TargetsReport};
use signal_hook::consts::{SIGINT, SIGTERM};
use verdicts::{Series, Verdict};

use crate::cli::{FailIfArgs, ProbeArgs};
use crate::exit::Exit;
use crate::hint::{self, Hint};
use crate::lab::audited::Audited;
use crate::lab::fail_if;
use crate::lab::misuse::misused;
use crate::output;
use plugin::State;
use progress::ProbeProgress;

const NO_ECHO: Hint = Hint(
    "as root: `sysctl -w net.ipv4.ping_group_range='0 2147483647'`, or give the program the \
     capability cap_net_raw",
);

const COMPARED: &str = "a second target, by `--vs`";

/// `tidegate lab probe`
pub(super) fn run(args: &ProbeArgs) -> Result<()> {
    let plugin = &args.plugin;
    let probed = match measure(args) {
        Err(error) if plugin.plugin => {
            let (text, _) = hint::split(&error);
            return end_as(State::Unknown, &format!("LAB {} - {text}", State::Unknown));
        }
        measured => measured?,
    };
    if plugin.plugin {
        let (state, line) = plugin::judge(&probed.series[0], plugin);
        return end_as(state, &line);
    }
    let is_measured = probed.series.iter().any(|series| !series.is_empty());
    let no_bounds = FailIfArgs::default();
    let bounds = if is_measured { &args.bounds } else { &no_bounds };
    if args.call.target.len() > 1 {
        let report = TargetsReport::new(&probed.series, probed.is_paired, &options(args));
        let outcomes = fail_if::of_targets(bounds, &report);
        let style = output::style();
        let text = match args.format.as_str() {
            "json" => fail_if::json(&report, &outcomes),
            _ => report.to_text(&style) + &fail_if::text(&outcomes, &style),
        };
        return ended(&text, &outcomes, is_measured, args);
    }
    let report = report(&probed, args);
    let all: Vec<&Series> = probed.series.iter().collect();
    let outcomes = fail_if::of_series(bounds, &all, &report);
    let ended = ended(&rendered(&report, &outcomes, args), &outcomes, is_measured, args);
    if let Some(calls) = needed(&report) {
        let bursts = calls.div_ceil(u64::from(args.call.burst));
        crate::output::tell!(
            "hint: the same command with `-n {bursts}` makes enough calls to blame a step"
        );
    }
    ended
}

/// Prints a report, and ends with the code of what was measured.
fn ended(text: &str, outcomes: &[BoundOutcome], is_measured: bool, args: &ProbeArgs) -> Result<()> {
    output::print(text)?;
    if args.format == "json" {
        fail_if::warn(outcomes);
    }
    match is_measured {
        true => fail_if::end(outcomes),
        false => Err(Exit(1).into()),
    }
}

/// Makes the calls until they are made, or somebody wants it to end.
fn measure(args: &ProbeArgs) -> Result<ProbeResult> {
    let plan = plan::of(args).map_err(misused)?;
    fail_if::check(&args.bounds, plan.targets.len() > 1, COMPARED).map_err(misused)?;
    // Before the measurement, which would be lost otherwise.
    let file = args.call.save.as_deref().map(output::create).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.context("install signal handlers")?;
    }
    let mut shown = match args.plugin.plugin {
        true => ProbeProgress::Silent,
        false => ProbeProgress::new(&plan),
    };
    let (commands, places) = commands(&plan);
    let audited = Audited::begin(args.call.config.as_deref(), "lab probe", &commands)?;
    let probed = lab::probe::run(&plan, &stop, &mut |progress| shown.show(progress));
    let probed = probed.map_err(explained);
    let calls = |series: &Series| series.len() as u64 + series.left_out.total();
    let runs = |at: &usize| probed.as_ref().map_or(0, |probed| calls(&probed.series[*at]));
    audited.end(&places.iter().map(runs).collect::<Vec<_>>(), probed.as_ref().err());
    let probed = probed?;
    if let Some(file) = file {
        let series: Vec<&Series> = probed.series.iter().collect();
        lab::session_file::write(&series, probed.is_paired, file).context("save the calls")?;
    }
    Ok(probed)
}

/// With a hint where the user can act, and as wrong usage where the plan makes no sense.
pub(super) fn explained(error: LabError) -> anyhow::Error {
    match error {
        LabError::Echo { .. } => anyhow::Error::new(error).context(NO_ECHO),
        LabError::Plan(_) => misused(error.into()),
        _ => error.into(),
    }
}

/// The programs that are run, without secrets, and the places of their targets.
pub(super) fn commands(plan: &Plan) -> (Vec<String>, Vec<usize>) {
    let programs = plan.targets.iter().enumerate().filter_map(|(at, target)| match target {
        ProbeTarget::Command(words) => {
            let words = audit::words_without_secrets(words);
            Some((ProbeTarget::Command(words).to_string(), at))
        }
        _ => None,
    });
    programs.unzip()
}

/// Says what is wrong with the command line, as a monitor reads it.
pub(super) fn unknown(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    // The argument that is missing stands on the next line.
    let next = text.lines().nth(1).map(str::trim).filter(|_| first.ends_with(':'));
    let gap = if next.is_some() { " " } else { "" };
    let state = State::Unknown;
    let first = first.replace('|', "/");
    // Where nobody reads it, the exit code says the same.
    let _ = output::print(&format!("LAB {state} - {first}{gap}{}\n", next.unwrap_or_default()));
    ExitCode::from(state as u8)
}

fn end_as(state: State, line: &str) -> Result<()> {
    output::print(&format!("{line}\n"))?;
    match state {
        State::Ok => Ok(()),
        _ => Err(Exit(state as u8).into()),
    }
}

/// How many calls would blame a step, where these are too few.
fn needed(report: &Report<'_>) -> Option<u64> {
    let all = report.verdicts.iter();
    all.filter_map(|verdict| match verdict {
        Verdict::Excess(excess) => excess.calls_needed,
        _ => None,
    })
    .max()
}

fn options(args: &ProbeArgs) -> ReportOptions {
    let slow_over_ms = args.call.slow.map(|slow| slow.0.as_secs_f64() * 1e3);
    ReportOptions { slow_over_ms, ..ReportOptions::default() }
}

fn report<'p>(probed: &'p ProbeResult, args: &ProbeArgs) -> Report<'p> {
    let options = options(args);
    match &probed.series[..] {
        [first, second] => Report::versus(first, second, probed.is_paired, &options),
        series => Report::new(&series[0], &options),
    }
}

fn rendered(report: &Report<'_>, bounds: &[BoundOutcome], args: &ProbeArgs) -> String {
    let style = output::style();
    match args.format.as_str() {
        "json" => fail_if::json(report, bounds),
        _ => report.to_text(&style) + &fail_if::text(bounds, &style),
    }
}
