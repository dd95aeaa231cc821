//! What a call costs the client: `tidegate lab load` beside wrk.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::CommandRun;
use crate::measure::Measurement;
use crate::peers::nginx;
use crate::process::{Cpu, Server};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "lab-load",
    what: "CPU time of a call in the load generator: `tidegate lab load` beside wrk",
    notes: "Both keep 64 connections busy with one thread, in turns.\n\
        Both call the same nginx with a cached answer of 4 KB on the other core.\n\
        `tidegate lab load` keeps every call with both of its times and its status; wrk counts \
        into a histogram.\n\
        CPU time is user and system time of the whole process, its start and its report included.\n\
        With verdicts, the report also says what the calls show, which wrk does not.",
    peers: &["tidegate", "wrk", "nginx"],
    run,
};

const PATH: &str = "/json/4096/article";

/// One trial of a generator.
struct Trial {
    cpu: Cpu,
    rate: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let server = nginx::start(setup, "nginx", nginx::Options::default())?;
    server.settle()?;
    let seconds = setup.trial.as_secs().max(1);
    let mut trials = [const { Vec::new() }; 3];
    for round in 0..setup.rounds {
        for turn in 0..3 {
            let side = (round + turn) % 3;
            trials[side].push(match side {
                0 => tidegate(setup, &server, seconds, &["--no-verdict"])?,
                1 => wrk(&server, seconds)?,
                _ => tidegate(setup, &server, seconds, &[])?,
            });
        }
    }
    let [ours, theirs, judged] = trials;
    let mut measurements = describe("tidegate lab load", &ours);
    measurements.extend(describe("wrk", &theirs));
    measurements.extend(describe("tidegate lab load, with verdicts", &judged));
    let ratios = ours.iter().zip(&theirs).map(|(a, b)| a.cpu.total_us() / b.cpu.total_us());
    let ratio = Measurement::new("tidegate lab load / wrk", "CPU per call, ratio", ratios);
    measurements.push(ratio.at_most(1.0, "at most 1.0"));
    Ok(measurements)
}

fn describe(name: &str, trials: &[Trial]) -> Vec<Measurement> {
    let figure =
        |figure: &str, of: fn(&Trial) -> f64| Measurement::new(name, figure, trials.iter().map(of));
    vec![
        figure("CPU µs per call", |trial| trial.cpu.total_us()).drawn(),
        figure("of it user µs", |trial| trial.cpu.user_us),
        figure("calls/s", |trial| trial.rate),
    ]
}

fn tidegate(setup: &Setup, server: &Server, seconds: u64, more: &[&str]) -> Result<Trial> {
    let mut command = Command::new(setup.tidegate()?);
    command
        .args(["lab", "load", "--connections", "64", "--format", "json"])
        .args(more)
        .arg("--for")
        .args([format!("{seconds}s"), format!("http://{}{PATH}", server.address)]);
    let CommandRun { printed, cpu, .. } = super::run(&mut command)?;
    let report: serde_json::Value = serde_json::from_str(&printed)?;
    let number = |name: &str| report["load"][name].as_f64().context("read our report");
    ensure!(
        report["load"]["failed"].as_object().is_some_and(serde_json::Map::is_empty),
        "{printed}"
    );
    Ok(Trial { cpu: each(cpu, number("succeeded")?), rate: number("rate")? })
}

fn wrk(server: &Server, seconds: u64) -> Result<Trial> {
    let mut command = Command::new("wrk");
    command
        .args(["-t1", "-c64", &format!("-d{seconds}s")])
        .arg(format!("http://{}{PATH}", server.address));
    let CommandRun { printed, cpu, .. } =
        super::run(&mut command).context("hint: apt-get install wrk")?;
    ensure!(!printed.contains("Non-2xx"), "wrk: {printed}");
    let (requests, rate) = crate::wrk::figures(&printed)?;
    Ok(Trial { cpu: each(cpu, requests), rate })
}

fn each(cpu: Cpu, calls: f64) -> Cpu {
    Cpu { user_us: cpu.user_us / calls, system_us: cpu.system_us / calls }
}
