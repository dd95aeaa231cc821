//! Contests about models: programs that take tasks on standard input, one after the other.
//!
//! Each answers with the CPU time that the task took (`bench/peers/models/contest.py` has the
//! protocol).
//! Invariant: a contestant runs on the servers' core, in one thread, and only during a task. What
//! it loads and prepares is not counted. It ends when its `Contestant` is dropped.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::machine::SERVER_CORE;
use crate::measure::Measurement;
use crate::process::peak_bytes;
use crate::setup::Setup;

/// A program that takes part.
pub(crate) struct Contestant {
    /// Name in the tables.
    pub name: String,
    child: Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What was done of a task, and the CPU time of the whole process meanwhile.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct TaskResult {
    units: f64,
    cpu_seconds: f64,
}

impl TaskResult {
    /// Units per second of CPU time.
    pub(crate) fn rate(self) -> f64 {
        self.units / self.cpu_seconds
    }

    /// CPU time of all units, in milliseconds.
    pub(crate) fn cpu_ms(self) -> f64 {
        1e3 * self.cpu_seconds
    }

    /// CPU time of one unit, in microseconds.
    pub(crate) fn unit_us(self) -> f64 {
        1e6 * self.cpu_seconds / self.units
    }
}

impl Contestant {
    /// Starts a script of bench/peers/models, and waits until it is ready.
    pub(crate) fn python(
        setup: &Setup,
        name: &str,
        script: &str,
        arguments: &[&str],
    ) -> Result<Self> {
        let python = setup.python()?.to_string_lossy().into_owned();
        let script = setup.root().join("bench/peers/models").join(script);
        let mut words = vec![&*python, script.to_str().context("a path is no UTF-8")?];
        words.extend(arguments);
        Self::start(setup, name, &words)
    }

    /// Starts this program as a contestant of its own, and waits until it is ready.
    pub(crate) fn ours(setup: &Setup, name: &str, arguments: &[&str]) -> Result<Self> {
        let program = std::env::current_exe()?.to_string_lossy().into_owned();
        let mut words = vec![&*program, "--evaluate"];
        words.extend(arguments);
        Self::start(setup, name, &words)
    }

    fn start(setup: &Setup, name: &str, words: &[&str]) -> Result<Self> {
        let core = SERVER_CORE.to_string();
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "taskset", "-c", &core, "env"])
            .args(ENVIRONMENT)
            .args(words)
            .current_dir(setup.dir("contest")?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start `{name}`"))?;
        let input = child.stdin.take().context("a contestant has an input")?;
        let output = child.stdout.take().context("a contestant has an output")?;
        let answers = BufReader::new(output);
        let mut contestant = Self { name: name.to_owned(), child, input, answers };
        contestant.answer()?;
        Ok(contestant)
    }

    /// Has a task done again and again until it has used so much CPU time.
    pub(crate) fn run(&mut self, task: &str, seconds: f64) -> Result<TaskResult> {
        writeln!(self.input, "run {task} {seconds}")?;
        let answer = self.answer()?;
        serde_json::from_str(&answer).with_context(|| format!("`{}` says `{answer}`", self.name))
    }

    /// Has results written.
    pub(crate) fn write(&mut self, what: &str, file: &Path) -> Result<()> {
        writeln!(self.input, "write {what} {}", file.display())?;
        self.answer().map(drop)
    }

    /// The highest that its resident memory was, in MB.
    pub(crate) fn peak_mb(&self) -> f64 {
        peak_bytes(self.child.id()) as f64 / 1e6
    }

    fn answer(&mut self) -> Result<String> {
        self.input.flush()?;
        let mut answer = String::new();
        let bytes = self.answers.read_line(&mut answer)?;
        ensure!(bytes > 0, "`{}` has ended; its complaint is above", self.name);
        Ok(answer)
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One thread each, and nothing asked of anybody else.
const ENVIRONMENT: [&str; 7] = [
    "OMP_NUM_THREADS=1",
    "OPENBLAS_NUM_THREADS=1",
    "RAYON_NUM_THREADS=1",
    "TOKENIZERS_PARALLELISM=false",
    "ORT_DISABLE_TELEMETRY=1",
    "HF_HUB_OFFLINE=1",
    "PYTHONDONTWRITEBYTECODE=1",
];

/// Runs a script of bench/peers/models to its end, and returns what it prints.
pub(crate) fn script(setup: &Setup, name: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(setup.python()?)
        .env("OMP_NUM_THREADS", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(setup.root().join("bench/peers/models").join(name))
        .args(arguments)
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{name}`: {complaint}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Has a task done by all in alternating order; returns for each what it did by round.
pub(crate) fn alternate(
    rounds: usize,
    contestants: &mut [Contestant],
    task: &str,
    seconds: f64,
) -> Result<Vec<Vec<TaskResult>>> {
    let count = contestants.len();
    let mut done = vec![Vec::new(); count];
    for contestant in &mut *contestants {
        contestant.run(task, 0.0)?;
    }
    for round in 0..rounds {
        for turn in 0..count {
            let at = (round + turn) % count;
            done[at].push(contestants[at].run(task, seconds)?);
        }
    }
    Ok(done)
}

/// How many times as many units per CPU time the left one did, by round.
pub(crate) fn ratio(
    case: &str,
    figure: &str,
    left: &[TaskResult],
    right: &[TaskResult],
) -> Measurement {
    let ratios = left.iter().zip(right).map(|(left, right)| left.rate() / right.rate());
    Measurement::new(case, figure, ratios)
}
