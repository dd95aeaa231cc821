//! What piled up while the database was dead, delivered when it is back.

use std::fs;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use testkit::{Postgres, Session};

use super::Row;
use crate::lines::{self, Kind};
use crate::machine::SERVER_CORE;
use crate::measure::Measurement;
use crate::setup::{self, Setup};

pub(super) const ROW: Row = Row {
    name: "catch-up",
    what: "ten minutes of log lines delivered after an outage of PostgreSQL",
    notes: "12 million lines, 20,000 a second of log time (1.2 million with `--quick`), are \
        counted by path and minute.\n\
        They make 200,000 rows, delivered exactly once, every second.\n\
        PostgreSQL is killed.\n\
        Then the log grows by the lines beside a running `events run`, which reads until its \
        memory bound.\n\
        The time begins when PostgreSQL takes connections again, and ends when it holds every \
        line.\n\
        Pauses before another attempt are included.\n\
        Tidegate has core 0 alone; PostgreSQL, with `fsync` off, is on the other.\n\
        Resident memory is the highest of the process.",
    peers: &["tidegate", "postgresql"],
    run,
};

/// Lines per second of log time.
const PER_SECOND: u64 = 20_000;
/// Delivered before the database dies.
const BEFORE: &str =
    "192.0.2.7 - - [21/Nov/2026:02:59:59 +0000] \"GET /before HTTP/1.1\" 200 1 \"-\" \"-\"\n";
const LOOK: Duration = Duration::from_millis(50);
const WAIT_TIMEOUT: Duration = Duration::from_secs(600);

struct Run {
    seconds: f64,
    megabytes: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let lines = if setup.quick { 1_200_000 } else { 12_000_000 };
    let postgres = Postgres::start();
    let runs = (0..setup.rounds).map(|_| measure(setup, &postgres, lines));
    let runs: Vec<Run> = runs.collect::<Result<_>>()?;
    let of = |figure: &str, value: fn(&Run) -> f64| {
        Measurement::new("Tidegate", figure, runs.iter().map(value))
    };
    Ok(vec![
        of("s to catch up", |run| run.seconds).at_most(60.0, "under 60 s"),
        Measurement::new("Tidegate", "lines/s", runs.iter().map(|run| lines as f64 / run.seconds)),
        of("MB resident", |run| run.megabytes).at_most(150.0, "under 150 MB"),
    ])
}

fn measure(setup: &Setup, postgres: &Postgres, lines: u64) -> Result<Run> {
    let dir = setup.dir("catch-up")?;
    let (url, status) = (postgres.database(), setup::free_address()?);
    let log = dir.join("access.log");
    fs::write(&log, BEFORE)?;
    fs::write(dir.join("tidegate.toml"), configuration(&url, status))?;
    let process = Process::start(setup, &dir)?;
    wait_for("the first lines", || delivered(&mut postgres.session(&url)) == 1)?;

    postgres.kill();
    append(setup, &log, lines)?;
    wait_for("the trouble", || {
        pipeline_status(status).is_some_and(|pipeline| pipeline["last_error"].is_string())
    })?;
    // Nothing is read any more: memory is as full as it gets.
    let (mut last, mut since) = (0, Instant::now());
    wait_for("the bound", || {
        let read =
            pipeline_status(status).and_then(|pipeline| pipeline["lines"].as_u64()).unwrap_or(0);
        if read != last {
            (last, since) = (read, Instant::now());
        }
        read > 1 && since.elapsed() > Duration::from_secs(2)
    })?;

    postgres.start_again();
    let begun = Instant::now();
    let mut session = postgres.session(&url);
    wait_for("every line", || delivered(&mut session) > lines)?;
    let seconds = begun.elapsed().as_secs_f64();
    let all = delivered(&mut session);
    ensure!(all == lines + 1, "{all} lines are delivered of {}", lines + 1);
    let megabytes = process.peak_kilobytes()? / 1024.0;
    drop(process);
    fs::remove_dir_all(&dir)?;
    Ok(Run { seconds, megabytes })
}

/// Has a log grow.
fn append(setup: &Setup, log: &Path, count: u64) -> Result<()> {
    let made = setup.cached(&format!("catch-up-{count}.log"))?;
    lines::write_at(&made, Kind::Combined, count, PER_SECOND)?;
    let mut log = fs::OpenOptions::new().append(true).open(log)?;
    io::copy(&mut fs::File::open(made)?, &mut log)?;
    Ok(())
}

fn configuration(url: &str, status: SocketAddr) -> String {
    format!(
        "[events]\nstatus = \"{status}\"\n\n\
         [[source]]\nname = \"log\"\nfiles = [\"access.log\"]\n\n\
         [[rollup]]\nname = \"reads\"\nby = [\"path\", \"minute\"]\n\n\
         [[sink]]\nname = \"main\"\nurl = \"{url}\"\nflush = \"1s\"\n"
    )
}

/// Lines that the database holds.
fn delivered(session: &mut Session) -> u64 {
    let sum = session.ask("SELECT COALESCE(SUM(count), 0) FROM reads");
    sum.and_then(|sum| sum.parse().ok()).unwrap_or(0)
}

/// What the process says of its only pipeline.
fn pipeline_status(status: SocketAddr) -> Option<Value> {
    let mut text = String::new();
    TcpStream::connect(status).ok()?.read_to_string(&mut text).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    Some(document["pipelines"][0].clone())
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() > WAIT_TIMEOUT {
            bail!("waited in vain for {what}");
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// `events run` on the server core; killed when dropped.
struct Process(Child);

impl Process {
    fn start(setup: &Setup, dir: &Path) -> Result<Self> {
        let core = SERVER_CORE.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "taskset", "-c", &core]);
        command.arg(setup.tidegate()?).args(["events", "run"]).current_dir(dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn().context("start `setpriv`")?))
    }

    fn peak_kilobytes(&self) -> Result<f64> {
        let file = format!("/proc/{}/status", self.0.id());
        let status = fs::read_to_string(&file).with_context(|| format!("read `{file}`"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok());
        peak.with_context(|| format!("read `{file}`: no peak"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
