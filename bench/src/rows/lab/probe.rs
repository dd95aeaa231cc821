//! How exactly a probe sends, and what it adds to what it measures.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::measure::Measurement;
use crate::peers::nginx;
use crate::process::Server;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "lab-probe",
    what: "how late `tidegate lab probe` sends, and what it adds to a latency",
    notes: "Calls arrive at random at an nginx with a cached answer of 4 KB on the other core.\n\
        They arrive 20 a second, as without `--rate`, or 150 a second.\n\
        At 150, one in fourteen is sent while another, or its last 500 µs of waiting, is under \
        way.\n\
        \"Late\" is the time between the moment at which a call was meant to be sent and its \
        sending; none is sent early.\n\
        A call over a new connection lasts from before its name is looked up to the last byte.\n\
        For curl that is its `time_total`, of as many calls of one process, evenly sent at the \
        same rate (`--rate 150/s`).\n\
        Latencies are far above those of a generator that never pauses: server and client are \
        woken for each call.",
    peers: &["tidegate", "curl", "nginx"],
    run,
};

const PATH: &str = "/json/4096/article";
const RATE: usize = 150;
/// What `lab probe` takes for a target that answers within 12 ms.
const RATE_IDLE: usize = 20;
/// Enough for a p99.
const IDLE_CALLS: usize = 300;
const LATE_P99_US_MAX: f64 = 50.0;

/// What `--save` keeps, as far as it is looked at.
#[derive(Deserialize)]
struct SavedSession {
    series: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    total_ms: Vec<f64>,
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    name: String,
    #[serde(default)]
    numbers: Vec<f64>,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let server = nginx::start(setup, "nginx", nginx::Options::default())?;
    server.settle()?;
    let calls = RATE * setup.trial.as_secs().max(1) as usize;
    let (mut late, mut late_idle) = (Vec::new(), Vec::new());
    let mut latencies = [const { Vec::new() }; 4];
    for _ in 0..setup.rounds {
        for (at, keeps_alive) in [(0, false), (2, true)] {
            let (latency, lateness) = probe(setup, &server, (RATE, calls), keeps_alive)?;
            latencies[at].push(latency);
            late.push(lateness);
            latencies[at + 1].push(curl(&server, calls, keeps_alive)?);
        }
        late_idle.push(probe(setup, &server, (RATE_IDLE, IDLE_CALLS), false)?.1);
    }
    let at = |case: &str, figure: &str, q: f64, rounds: &[Vec<f64>]| {
        Measurement::new(case, figure, rounds.iter().map(|sorted| quantile(sorted, q)))
    };
    let (idle, busy) = ("tidegate lab probe, 20/s", "tidegate lab probe, 150/s");
    let mut measurements = vec![
        at(idle, "late, p50 µs", 0.5, &late_idle),
        at(idle, "late, p99 µs", 0.99, &late_idle).at_most(LATE_P99_US_MAX, "at most 50"),
        at(idle, "late, most µs", 1.0, &late_idle),
        at(busy, "late, p50 µs", 0.5, &late),
        at(busy, "late, p99 µs", 0.99, &late),
        at(busy, "late, most µs", 1.0, &late),
    ];
    let cases = [
        "tidegate lab probe, new connections",
        "curl, new connections",
        "tidegate lab probe, kept connection",
        "curl, kept connection",
    ];
    for (case, rounds) in cases.iter().zip(&latencies) {
        measurements.push(at(case, "latency, p50 µs", 0.5, rounds));
        measurements.push(at(case, "latency, p99 µs", 0.99, rounds));
    }
    Ok(measurements)
}

/// Latencies and latenesses in microseconds, ascending.
fn probe(
    setup: &Setup,
    server: &Server,
    (rate, calls): (usize, usize),
    keeps_alive: bool,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let file = setup.memory_dir("probe")?.join("calls.json");
    let mut command = Command::new(setup.tidegate()?);
    command.args(["lab", "probe", "--format", "json", "--rate", &rate.to_string(), "--save"]);
    command.arg(&file).args(["-n", &calls.to_string(), &url(server)]);
    if keeps_alive {
        command.arg("--keep-alive");
    }
    super::run(&mut command)?;
    let saved: SavedSession = serde_json::from_slice(&std::fs::read(&file)?)?;
    let series = saved.series.into_iter().next().context("no series was kept")?;
    ensure!(series.total_ms.len() == calls, "{} of {calls} calls", series.total_ms.len());
    let late = series.attributes.into_iter().find(|attribute| attribute.name == "late_ms");
    let late = late.context("the probe does not say how late it was")?;
    Ok((microseconds(series.total_ms, 1e3), microseconds(late.numbers, 1e3)))
}

fn curl(server: &Server, calls: usize, keeps_alive: bool) -> Result<Vec<f64>> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--fail", "--output", "/dev/null", "--rate", &format!("{RATE}/s")]);
    command.args(["--write-out", "%{time_total}\n", &format!("{}#[1-{calls}]", url(server))]);
    if !keeps_alive {
        command.args(["--header", "Connection: close"]);
    }
    let printed = super::run(&mut command)?.printed;
    let seconds: Vec<f64> = printed.lines().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(seconds.len() == calls, "curl made {} of {calls} calls", seconds.len());
    Ok(microseconds(seconds, 1e6))
}

fn url(server: &Server) -> String {
    format!("http://{}{PATH}", server.address)
}

fn microseconds(values: Vec<f64>, unit: f64) -> Vec<f64> {
    let mut us: Vec<f64> = values.into_iter().map(|value| value * unit).collect();
    us.sort_by(f64::total_cmp);
    us
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted.get((q * (sorted.len() - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN)
}
