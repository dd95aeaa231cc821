//! How long a verdict takes: `tidegate lab report` on calls of a file.

use std::f64::consts::TAU;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use stdx::Random;

use super::CommandRun;
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "lab-verdict",
    what: "time for a verdict on 50 calls and on a million: `tidegate lab report` of a CSV",
    notes: "The CSV has the moment and the latency of each call.\n\
        The time is that of the whole process on one core: reading, quantiles, the histogram and \
        every search.\n\
        Smooth calls are lognormal around 5 ms.\n\
        With a comb, a tenth of them waits for one to six quanta of 40 ms, with a deviation of \
        2 ms.\n\
        The Python program diptest reads the same file and says whether it has one mode or \
        several.\n\
        That is a part of our answer.\n\
        It judges 50 calls by 1,999 bootstraps, and a million by the package's table, which it \
        warns is made for 72,000.\n\
        Its time includes its start, its imports and its reading, too.",
    peers: &["tidegate", "diptest"],
    run,
};

const FEW: usize = 50;
const MANY: usize = 1_000_000;
const QUANTUM_MS: f64 = 40.0;

/// Calls of which a verdict is asked.
struct Case {
    calls: usize,
    has_comb: bool,
    seconds_max: f64,
}

const CASES: [Case; 4] = [
    Case { calls: FEW, has_comb: false, seconds_max: 0.5 },
    Case { calls: FEW, has_comb: true, seconds_max: 0.5 },
    Case { calls: MANY, has_comb: false, seconds_max: 20.0 },
    Case { calls: MANY, has_comb: true, seconds_max: 20.0 },
];

impl Case {
    fn name(&self) -> String {
        let calls = if self.calls == MANY { "a million calls" } else { "50 calls" };
        format!("{calls}, {}", if self.has_comb { "with a comb" } else { "smooth" })
    }

    /// What the first verdict has to be.
    fn kind(&self) -> &'static str {
        if self.has_comb { "quantised" } else { "unimodal" }
    }
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let dir = setup.memory_dir("calls")?;
    let mut measurements = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let file = dir.join(format!("{number}.csv"));
        write(case, &file).with_context(|| format!("write `{}`", file.display()))?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..setup.rounds {
            ours.push(report(setup, case, &file)?);
            theirs.push(super::run(Command::new(setup.python()?).arg(dip(setup)).arg(&file))?);
        }
        let [wall, cpu] = seconds(&format!("tidegate lab report, {}", case.name()), &ours);
        let target = format!("at most {} s", case.seconds_max);
        measurements.extend([wall.at_most(case.seconds_max, &target), cpu]);
        measurements.extend(seconds(&format!("diptest, {}", case.name()), &theirs));
    }
    Ok(measurements)
}

fn seconds(case: &str, runs: &[CommandRun]) -> [Measurement; 2] {
    let wall = runs.iter().map(|run| run.took.as_secs_f64());
    let cpu = runs.iter().map(|run| run.cpu.total_us() / 1e6);
    [Measurement::new(case, "seconds", wall), Measurement::new(case, "CPU seconds", cpu)]
}

fn report(setup: &Setup, case: &Case, file: &Path) -> Result<CommandRun> {
    let mut command = Command::new(setup.tidegate()?);
    let ran = super::run(command.args(["lab", "report", "--format", "json", "--from"]).arg(file))?;
    let report: serde_json::Value = serde_json::from_str(&ran.printed)?;
    let kind = report["verdicts"][0]["kind"].as_str();
    ensure!(kind == Some(case.kind()), "{}: the verdict is {kind:?}", case.name());
    Ok(ran)
}

fn dip(setup: &Setup) -> PathBuf {
    setup.root().join("bench/peers/lab/dip.py")
}

/// Makes the calls, a thousand a second.
fn write(case: &Case, file: &Path) -> Result<()> {
    let mut random = Random::new(7);
    let normal = |random: &mut Random| {
        let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
        radius * (TAU * random.fraction()).cos()
    };
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    writeln!(out, "began_ms,latency_ms")?;
    let mut began_ms = 0.0;
    // Of few calls every one waits, as in the first sample of this kind that somebody looked at.
    let waiting = if case.calls == FEW { 1.0 } else { 0.1 };
    for _ in 0..case.calls {
        began_ms -= (1.0 - random.fraction()).ln();
        let mut latency_ms = 5.0 * (0.5 * normal(&mut random)).exp();
        if case.has_comb && random.fraction() < waiting {
            let quanta = 1.0 + random.up_to(5) as f64;
            latency_ms = QUANTUM_MS * (quanta + 0.05 * normal(&mut random));
        }
        writeln!(out, "{began_ms:.6},{latency_ms:.6}")?;
    }
    Ok(out.flush()?)
}
