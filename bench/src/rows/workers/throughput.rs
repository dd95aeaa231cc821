//! What the way to a worker costs: a handler that does nothing, and one that computes.

use std::time::Duration;

use anyhow::Result;
use load::Plan;

use super::get;
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64, poisson};
use crate::peers::workers::{self, App, BOTH_CORES, ONE_CORE, UVICORN};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "workers-throughput",
    what: "hello world and 5 ms of computing by 2 ASGI workers, beside gunicorn and granian",
    notes: "The same app runs under all servers.\n\
        Tidegate's app has one request at a time (the default), or up to 16 (`concurrency`).\n\
        Workers of gunicorn are uvicorn's (uvloop, httptools). They and granian's (uvloop) get \
        any number.\n\
        Throughput is a closed loop over 64 keep-alive connections.\n\
        Latencies are of requests that arrive at random at 70 % of the slowest's throughput.\n\
        Hello world has one core, as servers have in other rows.\n\
        The handler that computes has both, with the load generator on the second: two workers are \
        to compute at the same time.",
    peers: &["tidegate", "gunicorn", "granian", "python"],
    run,
};

const NAMES: [&str; 4] = ["Tidegate", "Tidegate, concurrency 16", "gunicorn + uvicorn", "granian"];
/// Fewer than Tidegate lets wait for a worker: whatever holds the machine up, nothing is refused,
/// and latencies go on counting.
const CONNECTIONS_MAX: usize = 512;
const OURS: usize = 0;
const SIXTEEN: usize = 1;
const THEIRS: usize = 2;
const GRANIAN: usize = 3;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = case(setup, "hello", "/", ONE_CORE)?;
    measurements.extend(case(setup, "5 ms", "/busy", BOTH_CORES)?);
    Ok(measurements)
}

fn case(setup: &Setup, what: &str, path: &str, cores: &str) -> Result<Vec<Measurement>> {
    let app =
        |name| App { name, app: "hello:asgi", workers: 2, cores, environment: &[], ready: "/" };
    let servers = [
        workers::tidegate(setup, &app(NAMES[OURS]), "")?,
        workers::tidegate(setup, &app(NAMES[SIXTEEN]), "concurrency = 16\n")?,
        workers::gunicorn(setup, &app(NAMES[THEIRS]), &UVICORN)?,
        workers::granian(setup, &app(NAMES[GRANIAN]))?,
    ];
    let sides: Vec<Side<'_>> = servers
        .iter()
        .map(|server| Side {
            name: format!("{what}, {}", server.name),
            server,
            requests: Box::new(|| get(path)),
        })
        .collect();
    let rounds = setup.rounds.min(3);
    let trial = setup.trial.min(Duration::from_secs(2));
    let full = alternate(rounds, &sides, &closed_64(trial))?;
    let slowest = full
        .iter()
        .map(|trials| Measurement::new("", "", trials.iter().map(|trial| trial.rate)).value)
        .fold(f64::INFINITY, f64::min);
    let arriving = poisson(trial, 0.7 * slowest);
    let partly = alternate(rounds, &sides, &|target| Plan {
        connections_max: CONNECTIONS_MAX,
        ..arriving(target)
    })?;
    Ok(figures(what, &sides, &full, &partly))
}

fn figures(
    what: &str,
    sides: &[Side<'_>],
    full: &[Vec<Trial>],
    partly: &[Vec<Trial>],
) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for (side, (full, partly)) in sides.iter().zip(full.iter().zip(partly)) {
        let rates = full.iter().map(|trial| trial.rate);
        measurements.push(Measurement::new(&side.name, "requests/s", rates));
        let cpu = full.iter().map(|trial| trial.cpu.total_us());
        measurements.push(Measurement::new(&side.name, "CPU µs per request", cpu));
        let p50 = partly.iter().map(|trial| trial.p50_us / 1e3);
        measurements.push(Measurement::new(&side.name, "p50 ms at 70 %", p50));
        let p99 = partly.iter().map(|trial| trial.p99_us / 1e3);
        measurements.push(Measurement::new(&side.name, "p99 ms at 70 %", p99));
    }
    for at in [OURS, SIXTEEN] {
        let case = format!("{what}: {} / {}", NAMES[at], NAMES[THEIRS]);
        let rate = by_round(&full[at], &full[THEIRS], |ours, theirs| ours.rate / theirs.rate);
        let rate = Measurement::new(&case, "requests/s, ratio", rate);
        let p99 = by_round(&partly[at], &partly[THEIRS], |ours, it| ours.p99_us / it.p99_us);
        let p99 = Measurement::new(&case, "p99 at 70 %, ratio", p99);
        measurements.extend(match at {
            OURS => [rate.at_least(1.0, "at least 1"), p99.at_most(0.5, "at most half")],
            _ => [rate, p99],
        });
    }
    let case = format!("{what}: {} / {}", NAMES[SIXTEEN], NAMES[GRANIAN]);
    let rate = by_round(&full[SIXTEEN], &full[GRANIAN], |ours, theirs| ours.rate / theirs.rate);
    let rate = Measurement::new(&case, "requests/s, ratio", rate);
    measurements.push(rate.at_least(1.0, "at least 1"));
    measurements
}
