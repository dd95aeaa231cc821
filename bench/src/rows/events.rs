//! Log lines into a database: read, parsed, counted by path and minute, delivered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::Row;
use crate::lines::{self, Kind};
use crate::machine::SERVER_CORE;
use crate::measure::Measurement;
use crate::setup::Setup;

pub const ROW: Row = Row {
    name: "events",
    what: "log lines counted by path and minute into a database, on one core",
    notes: "5 million lines of 12 million a minute of log time (1 million with `--quick`), 20,000 \
        paths by Zipf's law, from a warm page cache; every program has core 0 alone.\n\
        Tidegate delivers exactly once into SQLite every second; the CPython Logbunker upserts \
        in one transaction a second with a binlog; DuckDB, mawk and the bare scanner count \
        without being able to go on after a crash, and the scanner validates nothing.\n\
        One insert per event runs on 10,000 lines, GoAccess on 210,000.\n\
        Resident memory is that of the largest process.",
    peers: &["tidegate", "mawk", "goaccess", "duckdb"],
    run,
};

/// How one run of a program went.
#[derive(Debug, Clone, Copy)]
struct Run {
    lines: f64,
    seconds: f64,
    cpu_seconds: f64,
    megabytes: f64,
}

/// Makes the words of a command for a folder of its own.
type Make = Box<dyn Fn(&Path) -> Result<Vec<String>>>;

struct Contender {
    name: &'static str,
    lines: u64,
    command: Make,
    /// Whether its output is the number of lines that it counted.
    tells_lines: bool,
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
    let mut measurements = Vec::new();
    for (contender, runs) in contenders.iter().zip(&runs) {
        measurements.extend(figures(contender.name, runs));
    }
    let find = |name| contenders.iter().position(|c| c.name == name).map(|at| &runs[at]);
    let ours = find(OURS).context("the first contender is ours")?;
    for (name, least) in
        [("CPython Logbunker", 7.0), ("DuckDB", 1.7), ("mawk", 2.0), ("bare scanner", 0.32)]
    {
        let theirs = find(name).context("every peer is a contender")?;
        let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| by_cpu(ours) / by_cpu(theirs));
        let ratio = Measurement::new(format!("{OURS} / {name}"), "lines per CPU-second", ratios);
        measurements.push(ratio.at_least(least, &format!("at least {least}")));
    }
    Ok(measurements)
}

const OURS: &str = "Tidegate, combined";
const JOURNAL: &str = "Tidegate, own journal";

fn figures(name: &str, runs: &[Run]) -> Vec<Measurement> {
    let rates = Measurement::new(name, "lines/s", runs.iter().map(|run| run.lines / run.seconds));
    let memory = Measurement::new(name, "MB resident", runs.iter().map(|run| run.megabytes));
    let (rates, memory) = match name {
        OURS => (
            rates.at_least(2.5e6, "at least 2.5 M, sought 4 M"),
            memory.at_most(200.0, "under 200 MB"),
        ),
        JOURNAL => (rates.at_least(2e6, "at least 2 M"), memory.at_most(200.0, "under 200 MB")),
        _ => (rates, memory),
    };
    let by_cpu = Measurement::new(name, "lines per CPU-second", runs.iter().map(by_cpu));
    vec![rates, by_cpu, memory]
}

fn by_cpu(run: &Run) -> f64 {
    run.lines / run.cpu_seconds
}

fn contenders(setup: &Setup, all: u64) -> Result<Vec<Contender>> {
    let file = |kind: Kind, count: u64| -> Result<PathBuf> {
        let path = setup.cached(&format!("events-{kind:?}-{count}.log").to_lowercase())?;
        lines::write(&path, kind, count)?;
        Ok(path)
    };
    let (combined, journal) = (file(Kind::Combined, all)?, file(Kind::Journal, all)?);
    let (few, some) = (file(Kind::Combined, 10_000)?, file(Kind::Combined, 210_000)?);
    let python = setup.python()?;
    let peer = |script: &str, log: &Path| {
        let script = setup.root().join("bench/peers").join(script);
        let words = [&python, &script, log].map(|path| path.display().to_string());
        move |folder: &Path| Ok([&words[..], &[folder.display().to_string()]].concat())
    };
    let ours = |log: &Path, format: &'static str| {
        let (tidegate, log) = (setup.tidegate()?.display().to_string(), log.to_owned());
        Ok::<_, anyhow::Error>(move |folder: &Path| {
            let config = folder.join("tidegate.toml");
            fs::write(&config, configuration(&log, format))?;
            let words = [&tidegate, "events", "run", "--once", "-c"].map(str::to_owned);
            Ok([&words[..], &[config.display().to_string()]].concat())
        })
    };
    let fixed = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        move |_: &Path| Ok(words.clone())
    };
    let log = combined.display().to_string();
    let scanner = std::env::current_exe()?.display().to_string();
    let contender =
        |name, lines, tells_lines, command| Contender { name, lines, command, tells_lines };
    Ok(vec![
        contender(OURS, all, false, Box::new(ours(&combined, "combined")?)),
        contender(JOURNAL, all, false, Box::new(ours(&journal, "tidegate")?)),
        contender("CPython Logbunker", all, true, Box::new(peer("logbunker.py", &combined))),
        contender("one insert per event", 10_000, true, Box::new(peer("insert_each.py", &few))),
        contender("DuckDB", all, true, Box::new(peer("duck.py", &combined))),
        contender("mawk", all, true, Box::new(fixed(&["mawk", MAWK, &log]))),
        contender(
            "GoAccess",
            210_000,
            false,
            Box::new(fixed(&[
                "goaccess",
                "--log-format=COMBINED",
                "--no-progress",
                "-o",
                "goaccess.json",
                &some.display().to_string(),
            ])),
        ),
        contender("bare scanner", all, true, Box::new(fixed(&[&scanner, "--scan", &log]))),
    ])
}

const MAWK: &str = "{ split($7, target, \"?\"); counts[target[1], substr($4, 2, 17)]++ } \
    END { for (key in counts) sum += counts[key]; print sum }";

fn configuration(log: &Path, format: &str) -> String {
    format!(
        "[[source]]\nname = \"log\"\nfiles = [\"{}\"]\nformat = \"{format}\"\n\n\
         [[rollup]]\nname = \"reads\"\nby = [\"path\", \"minute\"]\n\n\
         [[sink]]\nname = \"main\"\nurl = \"sqlite:events.db\"\nflush = \"1s\"\n",
        log.display()
    )
}

fn measure(setup: &Setup, contender: &Contender) -> Result<Run> {
    let folder = setup.folder("events")?;
    let words = (contender.command)(&folder)?;
    let (report, core) = (folder.join("time"), SERVER_CORE.to_string());
    let started = Instant::now();
    let output = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "taskset", "-c", &core, "time", "-f", "%U %S %M", "-o"])
        .arg(&report)
        .args(&words)
        .current_dir(&folder)
        .output()
        .with_context(|| format!("run `{}`", words[0]))?;
    let seconds = started.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!(
            "run `{}`: {}\n{}",
            contender.name,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let counted = match contender.name {
        OURS | JOURNAL => delivered(&folder.join("events.db"))?,
        _ if contender.tells_lines => text.trim().parse::<f64>()? as u64,
        _ => contender.lines,
    };
    let (name, lines) = (contender.name, contender.lines);
    ensure!(counted == lines, "`{name}` counted {counted} lines of {lines}");
    let figures: Vec<f64> = fs::read_to_string(&report)?
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [user, system, kilobytes] = figures[..] else { bail!("read `{}`", report.display()) };
    fs::remove_dir_all(&folder)?;
    Ok(Run {
        lines: lines as f64,
        seconds,
        cpu_seconds: user + system,
        megabytes: kilobytes / 1024.0,
    })
}

fn delivered(database: &Path) -> Result<u64> {
    let database = rusqlite::Connection::open(database)?;
    Ok(database.query_row("SELECT sum(count) FROM reads", [], |row| row.get::<_, i64>(0))? as u64)
}
