//! Log lines into a database: read, parsed, counted by path and minute, delivered.

mod contenders;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use self::contenders::{COMBINED, Contender, FIFTH, JOURNAL, RAW, ResultSource, contenders};
use super::Row;
use crate::machine::SERVER_CORE;
use crate::measure::Measurement;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "events",
    what: "log lines counted by path and minute into a database, on one core",
    notes: "The log has 5 million lines (1 million with `--quick`), at 12 million a minute of log \
        time.\n\
        It names 20,000 paths by Zipf's law and is in a warm page cache; every program has core 0 \
        alone.\n\
        Tidegate delivers exactly once into SQLite every second.\n\
        `raw` is a row for each line with all fields, of a fifth of the lines.\n\
        The CPython Logbunker has a parser and an upserter process, and upserts in one transaction \
        a second with a binlog.\n\
        The Cython one is the same compiled, with types for its locals.\n\
        DuckDB, mawk and the bare scanner cannot go on after a crash, and the scanner validates \
        nothing.\n\
        One insert per event runs on 10,000 lines, GoAccess on 210,000.\n\
        Resident memory is that of the largest process.",
    peers: &["tidegate", "mawk", "goaccess", "duckdb", "cython"],
    run,
};

/// At least so many times as many lines per CPU-second.
const RATIOS: [(&str, f64); 4] =
    [("CPython Logbunker", 7.0), ("DuckDB", 1.7), ("mawk", 2.0), ("bare scanner", 0.32)];

/// How one run of a program went.
#[derive(Debug, Clone, Copy)]
struct Run {
    lines: f64,
    seconds: f64,
    cpu_seconds: f64,
    megabytes: f64,
}

impl Run {
    fn by_cpu(&self) -> f64 {
        self.lines / self.cpu_seconds
    }
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let all = if setup.quick { 1_000_000 } else { 5_000_000 };
    let contenders = contenders(setup, all)?;
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); contenders.len()];
    for round in 0..setup.rounds {
        for turn in 0..contenders.len() {
            let at = (round + turn) % contenders.len();
            runs[at].push(measure(setup, &contenders[at])?);
        }
    }
    let all: Vec<_> = contenders.iter().map(|contender| contender.name).zip(runs).collect();
    let mut measurements: Vec<_> =
        all.iter().flat_map(|(name, runs)| figures(name, runs)).collect();
    let ratios = |left: &str, right: &str, of: fn(&Run) -> f64| -> Result<Vec<f64>> {
        let find = |wanted| all.iter().find(|(name, _)| *name == wanted).context("no contender");
        let (left, right) = (find(left)?, find(right)?);
        Ok(left.1.iter().zip(&right.1).map(|(left, right)| of(left) / of(right)).collect())
    };
    for (name, least) in RATIOS {
        let case = format!("{COMBINED} / {name}");
        let values = ratios(COMBINED, name, Run::by_cpu)?;
        let ratio = Measurement::new(case, "lines per CPU-second", values);
        measurements.push(ratio.at_least(least, &format!("at least {least}")));
    }
    let values = ratios(COMBINED, FIFTH, |run| run.megabytes)?;
    let flat = Measurement::new(format!("{COMBINED} / a fifth"), "MB resident", values);
    measurements.push(flat.at_most(1.2, "flat: at most 1.2"));
    Ok(measurements)
}

fn figures(name: &str, runs: &[Run]) -> Vec<Measurement> {
    let rates = Measurement::new(name, "lines/s", runs.iter().map(|run| run.lines / run.seconds));
    let memory = Measurement::new(name, "MB resident", runs.iter().map(|run| run.megabytes));
    let (rates, memory) = match name {
        COMBINED => (
            rates.at_least(2.5e6, "at least 2.5 M, sought 4 M"),
            memory.at_most(200.0, "under 200 MB"),
        ),
        JOURNAL => (rates.at_least(2e6, "at least 2 M"), memory.at_most(200.0, "under 200 MB")),
        RAW => (rates.at_least(3e5, "at least 300 k"), memory.at_most(200.0, "under 200 MB")),
        _ => (rates, memory),
    };
    let by_cpu = Measurement::new(name, "lines per CPU-second", runs.iter().map(Run::by_cpu));
    vec![rates, by_cpu, memory]
}

fn measure(setup: &Setup, contender: &Contender) -> Result<Run> {
    let (name, lines) = (contender.name, contender.lines);
    let dir = setup.dir("events")?;
    let words = (contender.command)(&dir)?;
    let (report, core) = (dir.join("time"), SERVER_CORE.to_string());
    let started = Instant::now();
    let output = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "taskset", "-c", &core, "time", "-f", "%U %S %M", "-o"])
        .arg(&report)
        .args(&words)
        .current_dir(&dir)
        .output()
        .with_context(|| format!("run `{}`", words[0]))?;
    let seconds = started.elapsed().as_secs_f64();
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "run `{name}`: {}\n{stderr}", output.status);
    let counted = match contender.result {
        ResultSource::Printed => String::from_utf8_lossy(&output.stdout).trim().parse::<u64>()?,
        ResultSource::Delivered(what) => delivered(&dir.join("events.db"), what)?,
        ResultSource::Unsaid => lines,
    };
    ensure!(counted == lines, "`{name}` counted {counted} lines of {lines}");
    let figures: Vec<f64> = fs::read_to_string(&report)?
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [user, system, kilobytes] = figures[..] else { bail!("read `{}`", report.display()) };
    fs::remove_dir_all(&dir)?;
    Ok(Run {
        lines: lines as f64,
        seconds,
        cpu_seconds: user + system,
        megabytes: kilobytes / 1024.0,
    })
}

fn delivered(database: &Path, what: &str) -> Result<u64> {
    let database = rusqlite::Connection::open(database)?;
    let text = format!("SELECT {what} FROM reads");
    Ok(database.query_row(&text, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
}
