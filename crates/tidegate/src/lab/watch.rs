//! Runs `tidegate lab watch`: probes targets for days, with the host's signals beside them.
//!
//! Here are arguments, signals that end it, and what is shown: a line at a terminal, elsewhere one
//! an hour. What the watch notes goes to stderr at once. Never here: measuring and the file, which
//! the crate `lab` has.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::probe::{Arrivals, End, Plan, ProbeTarget, Progress};
use lab::{WatchPlan, WatchProgress};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::audited::Audited;
use super::misuse::misused;
use super::probe::plan;
use super::probe::progress::ProbeProgress;
use crate::cli::WatchArgs;

/// Without `--for` a watch ends by a signal only.
const FOREVER: Duration = Duration::from_secs(100 * 366 * 86_400);
const INTERVAL_MAX: Duration = Duration::from_secs(86_400);
/// What is kept at least: a report needs twenty seconds of signals.
const KEEP_MIN: Duration = Duration::from_secs(60);
const SIZE_MIN: u64 = 1 << 20;
/// Where stderr is no terminal the first line comes soon, and others ever later, up to a distance.
const FIRST: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_secs(600);

/// `tidegate lab watch`
pub(super) fn run(args: &WatchArgs) -> Result<()> {
    let watched = planned(args).map_err(misused)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.context("install signal handlers")?;
    }
    let commands: Vec<String> = args.targets.iter().filter_map(command).collect();
    let audited = Audited::begin(args.config.as_deref(), "lab watch", &commands)?;
    let mut line = std::io::stderr().is_terminal().then(|| ProbeProgress::new(&watched.probes[0]));
    let mut next = Duration::ZERO;
    let mut calls = 0;
    let ended = lab::watch(&watched, &stop, &mut |progress| {
        for note in &progress.notes {
            crate::output::tell!("note: {}", screen::clean(note));
        }
        calls = progress.calls + progress.failed;
        match &mut line {
            Some(line) => line.show(&probing(progress)),
            None if progress.elapsed >= next => {
                next = (2 * progress.elapsed).clamp(FIRST, progress.elapsed + BETWEEN);
                crate::output::tell!("{}", progress_line(progress, args));
            }
            None => {}
        }
        if args.time.is_some_and(|time| progress.elapsed >= time.0) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    drop(line);
    let ended = ended.map_err(anyhow::Error::new);
    audited.end(&vec![calls; commands.len()], ended.as_ref().err());
    let WatchProgress { calls, failed, .. } = ended?;
    crate::output::tell!(
        "watched in `{0}`; `tidegate lab report --from {0}` reads it",
        args.output.display()
    );
    ensure!(calls > 0 || failed == 0, "none of {failed} calls succeeded");
    Ok(())
}

/// A program that is run as a target, without its secrets.
fn command(target: &ProbeTarget) -> Option<String> {
    let ProbeTarget::Command(words) = target else { return None };
    Some(ProbeTarget::Command(audit::words_without_secrets(words)).to_string())
}

fn planned(args: &WatchArgs) -> Result<WatchPlan> {
    let interval_s = args.interval.0.as_secs_f64();
    ensure!(interval_s >= 0.001, "`--every` is at least 1ms");
    ensure!(args.interval.0 <= INTERVAL_MAX, "`--every` is at most 1d");
    ensure!(args.keep.0 >= KEEP_MIN, "`--keep` is at least 1m");
    ensure!(args.size.0 >= SIZE_MIN, "`--size` is at least 1MiB");
    let http = plan::http(&args.http)?;
    let probe = |(seed, target): (u64, &ProbeTarget)| Plan {
        arrivals: Arrivals::Poisson(Some(1.0 / interval_s)),
        timeout: args.timeout.0,
        seed,
        number_first: plan::by_the_clock(),
        http: http.clone(),
        ..Plan::of(vec![target.clone()], End::After(FOREVER))
    };
    let seeded = (plan::by_the_clock()..).zip(&args.targets);
    Ok(WatchPlan {
        probes: seeded.map(probe).collect(),
        file: args.output.clone(),
        keep_for: args.keep.0,
        bytes_max: args.size.0,
        pids: args.pid.clone(),
        collector_logs: args.collector_log.clone(),
        statsd: args.statsd.clone(),
    })
}

fn probing(progress: &WatchProgress) -> Progress {
    Progress {
        done: progress.calls + progress.failed,
        planned: None,
        failed: progress.failed,
        last_ms: progress.last_ms,
        elapsed: progress.elapsed,
        targets: Vec::new(),
    }
}

fn progress_line(progress: &WatchProgress, args: &WatchArgs) -> String {
    let WatchProgress { calls, failed, bytes, .. } = progress;
    format!(
        "watching {}: {calls} calls, {failed} failed, {} in `{}`",
        args.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        screen::number::bytes(*bytes as f64),
        args.output.display()
    )
}
