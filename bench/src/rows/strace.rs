//! Reading traces of system calls: lines per second of `tidegate lab strace`, beside scripts that
//! only count.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Row;
use crate::measure::Measurement;
use crate::process::{Cpu, children_cpu, peak_bytes};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "strace",
    what: "lines of strace read: `tidegate lab strace`, and scripts that count calls by name",
    notes: "As many lines as source 002 had, 28,221,878, of 64 threads, from memory; every fourth \
        call is in two halves.\n\
        Tidegate joins halves, follows descriptors, requests and children, and keeps latencies.\n\
        The scripts count calls by name, and do nothing else; all counts agree.",
    peers: &["tidegate", "mawk", "python"],
    run,
};

const LINES: u64 = 28_221_878;
const THREADS: u64 = 64;
const AWK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/strace.awk");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/strace.py");

/// Calls by name.
type CallCounts = BTreeMap<String, u64>;

/// One reading of all lines.
struct TraceReading {
    cpu: Cpu,
    took: Duration,
    counts: CallCounts,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let file = setup.memory_dir("strace")?.join("trace.txt");
    write(&file).with_context(|| format!("write `{}`", file.display()))?;
    let tidegate = setup.tidegate()?;
    let [mut ours, mut awk, mut python] = [const { Vec::new() }; 3];
    for _ in 0..setup.rounds {
        let mut command = Command::new(&tidegate);
        command.args(["lab", "strace", "--format", "ndjson"]).arg(&file);
        ours.push(read(&mut command, of_ndjson)?);
        awk.push(read(Command::new("mawk").args(["-f", AWK]).arg(&file), of_lines)?);
        python.push(read(Command::new("python3").arg(PYTHON).arg(&file), of_lines)?);
    }
    let counts: Vec<&CallCounts> =
        ours.iter().chain(&awk).chain(&python).map(|it| &it.counts).collect();
    ensure!(counts.iter().all(|it| *it == counts[0]), "the counts differ: {counts:?}");
    let mut measurements = Vec::new();
    for (name, readings) in [("tidegate lab strace", &ours), ("mawk", &awk), ("python", &python)] {
        let by = |seconds: fn(&TraceReading) -> f64| {
            readings.iter().map(move |reading| LINES as f64 / seconds(reading))
        };
        let rate = Measurement::new(name, "lines/s", by(|it| it.took.as_secs_f64()));
        let is_ours = name.starts_with("tidegate");
        measurements.push(if is_ours { rate.at_least(6e6, "at least 6 M") } else { rate });
        let cpu = by(|it| it.cpu.total_us() / 1e6);
        measurements.push(Measurement::new(name, "lines per CPU-second", cpu));
    }
    let mb = memory(&tidegate, &file)? as f64 / 1e6;
    let memory = Measurement::new("tidegate lab strace", "most memory, MB", [mb]);
    measurements.push(memory.at_most(200.0, "under 200 MB"));
    Ok(measurements)
}

fn read(command: &mut Command, counted: fn(&str) -> Result<CallCounts>) -> Result<TraceReading> {
    let (before, begun) = (children_cpu()?, Instant::now());
    let output = command.output().with_context(|| format!("run `{command:?}`"))?;
    let (took, cpu) = (begun.elapsed(), children_cpu()?.since(before));
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counts = counted(&String::from_utf8_lossy(&output.stdout))?;
    Ok(TraceReading { cpu, took, counts })
}

fn of_lines(text: &str) -> Result<CallCounts> {
    let pair = |line: &str| {
        let (name, count) = line.split_once(' ').context("no pair of name and count")?;
        Ok((name.to_owned(), count.parse()?))
    };
    text.lines().map(pair).collect()
}

fn of_ndjson(text: &str) -> Result<CallCounts> {
    let mut counts = CallCounts::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        if line["kind"] == "syscall" {
            let name = line["name"].as_str().context("a call without a name")?;
            counts.insert(name.to_owned(), line["calls"].as_u64().context("no count")?);
        }
    }
    Ok(counts)
}

/// Pipes the lines in, and returns the most memory that reading them took.
fn memory(tidegate: &Path, file: &Path) -> Result<u64> {
    let mut command = Command::new(tidegate);
    command.args(["lab", "strace", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("start `tidegate lab strace`")?;
    let mut input = child.stdin.take().context("its input")?;
    io::copy(&mut File::open(file)?, &mut input)?;
    let bytes = peak_bytes(child.id());
    drop(input);
    ensure!(child.wait()?.success(), "`tidegate lab strace` failed");
    Ok(bytes)
}

/// Writes calls until there are as many lines as source 002 had.
fn write(file: &Path) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let (mut lines, mut number) = (0, 0_u64);
    while lines < LINES {
        let (pid, micros) = (4000 + number % THREADS, 1_365_603_497_000_000 + 9 * number);
        let time = format!("{pid} {}.{:06}", micros / 1_000_000, micros % 1_000_000);
        let (name, args, result) = call(number);
        let took = format!("<0.{:06}>", number * 7919 % 900_000);
        if number % 4 == 3 && lines + 1 < LINES {
            writeln!(out, "{time} {name}({args} <unfinished ...>")?;
            writeln!(out, "{time} <... {name} resumed>) = {result} {took}")?;
            lines += 2;
        } else {
            writeln!(out, "{time} {name}({args}) = {result} {took}")?;
            lines += 1;
        }
        number += 1;
    }
    Ok(out.flush()?)
}

fn call(number: u64) -> (&'static str, &'static str, &'static str) {
    const TIMED_OUT: &str = "-1 ETIMEDOUT (Connection timed out)";
    match number / THREADS % 8 {
        0 => ("futex", "0x7f2ba4, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=250000000}", TIMED_OUT),
        1 => (
            "recvfrom",
            "4, \"GET /save HTTP/1.1\\r\\nHost: a\\r\\n\"..., 8192, 0, NULL, NULL",
            "41",
        ),
        2 => ("openat", "AT_FDCWD, \"/srv/page.txt,v\", O_WRONLY|O_CREAT|O_TRUNC, 0666", "5"),
        3 => ("write", "5, \"head 1.1;\\naccess;\\nsymbols;\"..., 4096", "4096"),
        4 => ("stat", "\"/srv/page.txt\", {st_mode=S_IFREG|0644, st_size=4096, ...}", "0"),
        5 => ("close", "5", "0"),
        6 => ("sendto", "4, \"HTTP/1.1 200 OK\\r\\nServer: x\"..., 212, 0, NULL, 0", "212"),
        _ => ("poll", "[{fd=9, events=POLLIN}], 1, 500", "0 (Timeout)"),
    }
}
