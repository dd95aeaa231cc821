//! Reading `varnishlog`: lines per second of `tidegate traffic`, beside an awk reader.

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
    name: "traffic",
    what: "lines of `varnishlog` read, misses shown: `tidegate traffic` and an awk reader",
    notes: "Ten million lines as Varnish 7 writes them, grouped by transaction, from memory; every \
        third request is a miss.\n\
        Both show the misses in two lines each, and count all requests; their counts agree.\n\
        The awk reader has 12 rules for this filter alone, run by mawk.\n\
        For the memory, the same lines are piped in ten times.",
    peers: &["tidegate", "mawk"],
    run,
};

const LINES: u64 = 10_000_000;
/// How often the lines are piped in for the memory.
const AGAIN: usize = 10;
const AWK: &str = include_str!("../../peers/varnishlog.awk");

/// One reading of all lines.
struct Reading {
    cpu: Cpu,
    took: Duration,
    total: String,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let file = setup.memory_dir("traffic")?.join("varnishlog.txt");
    write(&file).with_context(|| format!("write `{}`", file.display()))?;
    let tidegate = setup.tidegate()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds {
        let mut command = Command::new(&tidegate);
        ours.push(read(command.args(["traffic", "-v", "only_misses=1"]).arg(&file))?);
        theirs.push(read(Command::new("mawk").arg(AWK).arg(&file))?);
    }
    let totals: Vec<&str> = ours.iter().chain(&theirs).map(|it| it.total.as_str()).collect();
    ensure!(totals.iter().all(|total| *total == totals[0]), "the counts differ: {totals:?}");
    let mut measurements = Vec::new();
    for (name, readings) in [("tidegate traffic", &ours), ("mawk", &theirs)] {
        let by = |seconds: fn(&Reading) -> f64| {
            readings.iter().map(move |reading| LINES as f64 / seconds(reading))
        };
        let rate = Measurement::new(name, "lines/s", by(|it| it.took.as_secs_f64()));
        let is_ours = name.starts_with("tidegate");
        measurements.push(if is_ours { rate.at_least(4e6, "at least 4 M") } else { rate });
        let cpu = by(|it| it.cpu.total_us() / 1e6);
        measurements.push(Measurement::new(name, "lines per CPU-second", cpu));
    }
    let name = format!("tidegate traffic, {} million lines", LINES / 1_000_000 * AGAIN as u64);
    for (name, times) in [("tidegate traffic, 10 million lines", 1), (&name, AGAIN)] {
        let mb = memory(&tidegate, &file, times)? as f64 / 1e6;
        measurements.push(Measurement::new(name, "most memory, MB", [mb]));
    }
    Ok(measurements)
}

fn read(command: &mut Command) -> Result<Reading> {
    let (before, begun) = (children_cpu()?, Instant::now());
    let output = command.output().with_context(|| format!("run `{command:?}`"))?;
    let (took, cpu) = (begun.elapsed(), children_cpu()?.since(before));
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let total = text.lines().rev().find(|line| line.starts_with("Total"));
    Ok(Reading { cpu, took, total: total.context("there is no total")?.to_owned() })
}

/// Pipes the lines in so often, and returns the most memory that it took.
fn memory(tidegate: &Path, file: &Path, times: usize) -> Result<u64> {
    let mut command = Command::new(tidegate);
    command.args(["traffic", "-v", "only_misses=1"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("start `tidegate traffic`")?;
    let mut input = child.stdin.take().context("its input")?;
    for _ in 0..times {
        io::copy(&mut File::open(file)?, &mut input)?;
    }
    let bytes = peak_bytes(child.id());
    drop(input);
    ensure!(child.wait()?.success(), "`tidegate traffic` failed");
    Ok(bytes)
}

/// Writes transactions until there are enough lines.
fn write(file: &Path) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let (mut lines, mut number) = (0, 0_u64);
    while lines < LINES {
        let text = transaction(number);
        lines += text.matches('\n').count() as u64;
        number += 1;
        out.write_all(text.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// A request as `varnishlog` of Varnish 7 writes it, grouped.
fn transaction(number: u64) -> String {
    let xid = 32_770 + 3 * number;
    let start = 1_795_791_800.0 + number as f64 / 2000.0;
    let end = start + 0.000_05 * (1 + number % 40) as f64;
    let (call, more) = match number % 3 {
        0 => ("MISS", "-   VCL_return     fetch\n-   Link           bereq 7 fetch\n"),
        _ => ("HIT", "-   VCL_return     deliver\n"),
    };
    let client = format!("192.0.2.{}", number % 250 + 1);
    let took = end - start;
    format!(
        "*   << Request  >> {xid}\n\
         -   Begin          req {} rxreq\n\
         -   Timestamp      Start: {start:.6} 0.000000 0.000000\n\
         -   Timestamp      Req: {start:.6} 0.000000 0.000000\n\
         -   ReqStart       {client} 39698 a0\n\
         -   ReqMethod      GET\n\
         -   ReqURL         /articles/{}?page={}\n\
         -   ReqProtocol    HTTP/1.1\n\
         -   ReqHeader      Host: news.example\n\
         -   ReqHeader      User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0\n\
         -   ReqHeader      Accept: text/html\n\
         -   VCL_call       RECV\n\
         -   VCL_return     hash\n\
         -   VCL_call       HASH\n\
         -   VCL_return     lookup\n\
         -   VCL_call       {call}\n\
         {more}\
         -   RespProtocol   HTTP/1.1\n\
         -   RespStatus     200\n\
         -   RespReason     OK\n\
         -   RespHeader     Content-Type: text/html\n\
         -   RespHeader     Age: 12\n\
         -   VCL_call       DELIVER\n\
         -   VCL_return     deliver\n\
         -   Timestamp      Resp: {end:.6} {took:.6} {took:.6}\n\
         -   ReqAcct        182 0 182 240 4096 4336\n\
         -   End            \n\n",
        xid - 1,
        number % 20_000,
        number % 7
    )
}
