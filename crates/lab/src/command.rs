//! Runs commands again and again, in turns, and says how long one run takes.
//!
//! [`Bench`] holds the loop; runs, shell, results, text and files are in the modules below.
//! Exports and the variables of each run are those of hyperfine 1.20, so scripts that build on
//! hyperfine go on working. Beyond it there are peak memory of each run, quantiles with intervals,
//! verdicts, and paired differences.
//! Invariant: each round runs every command once, in an order that turns around. So run i of one
//! command pairs with run i of another: `versus` and `--save` with `--vs` rely on that.
//! A cancelled round counts for none, so a result may be without runs; the binary drops it. A
//! [`ShellStart`], where given, is taken off each run, never below zero.
//! Failure: a run that fails, unless ignored, ends the benchmark at once, without cleanup. Failures
//! of setup, preparation, conclusion and cleanup are never ignored. `cancel` is not looked at in
//! the warm-up.
//! Refuses: Windows. Only tests use `Runs::default`: defaults of the command line are in the
//! binary, in `lab/bench.rs` and `cli/lab/bench.rs`.

mod export;
mod outcome;
mod parameters;
mod program;
mod shell;
mod subject;
mod text;
mod usage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use export::{Markup, ResultFile, to_csv, to_json, to_markup};
pub use outcome::{BenchResult, Warning};
pub use parameters::{ParameterValues, list, scan, substituted};
pub use program::{CommandInput, CommandOutput, FailurePolicy, Program, Trial};
pub use shell::ShellStart;
pub use subject::Subject;
pub use text::{TimeUnit, summary, text, versus};

use crate::LabError;
pub(crate) use program::{RunContext, RunPurpose};

/// How often commands are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// Runs before the measurement.
    pub warm_up: u64,
    /// Measured runs at least.
    pub min: u64,
    /// Measured runs at most.
    pub max: Option<u64>,
    /// Runs go on until they took so long together, preparations included.
    pub time_min: Duration,
}

impl Default for Runs {
    /// As hyperfine: ten runs, and three seconds.
    fn default() -> Self {
        Self { warm_up: 0, min: 10, max: None, time_min: Duration::from_secs(3) }
    }
}

/// How all commands are run.
#[derive(Debug, Clone)]
pub struct Bench<'a> {
    /// How often.
    pub runs: Runs,
    /// Which failures are no reason to stop.
    pub failures: FailurePolicy,
    /// What the commands read.
    pub input: CommandInput,
    /// What is taken off each run's times.
    pub shell: Option<ShellStart>,
    /// Ends the benchmark after the current run when it becomes true.
    pub cancel: &'a AtomicBool,
}

/// What is being done, for whoever watches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BenchProgress {
    /// So many of so many warm-up runs are done.
    WarmUp(u64, u64),
    /// So many of so many runs are done, with this mean in seconds.
    Run(u64, u64, f64),
}

impl Bench<'_> {
    /// Runs the subjects in turns, each once a round. The order is turned around every round, so
    /// what changes slowly on the machine strikes them alike.
    ///
    /// # Errors
    /// When a command cannot be run or fails, as far as failures are not ignored.
    pub fn run(
        &self,
        subjects: &[Subject],
        watch: &mut dyn FnMut(BenchProgress),
    ) -> Result<Vec<BenchResult>, LabError> {
        for subject in subjects {
            self.beside(subject.setup.as_ref(), subject, "setup")?;
        }
        for round in 0..self.runs.warm_up {
            for subject in subjects {
                self.once(subject, RunPurpose::WarmUp(round))?;
            }
            watch(BenchProgress::WarmUp(round + 1, self.runs.warm_up));
        }
        let mut trials: Vec<Vec<Trial>> = vec![Vec::new(); subjects.len()];
        let (mut round, mut rounds) = (0, self.runs.min.max(1));
        while round < rounds && !self.cancel.load(Ordering::Relaxed) {
            let begun = std::time::Instant::now();
            let mut done = Vec::with_capacity(subjects.len());
            for turn in 0..subjects.len() {
                let at = if round % 2 == 0 { turn } else { subjects.len() - 1 - turn };
                match self.once(&subjects[at], RunPurpose::Run(round)) {
                    // Ctrl-C reaches the command as well; its last run does not count.
                    _ if self.cancel.load(Ordering::Relaxed) => break,
                    outcome => done.push((at, outcome?)),
                }
            }
            if done.len() < subjects.len() {
                break;
            }
            done.into_iter().for_each(|(at, trial)| trials[at].push(trial));
            if round == 0 {
                rounds = self.rounds(begun.elapsed());
            }
            round += 1;
            let first = &trials[0];
            let mean = first.iter().map(|trial| trial.real).sum::<f64>() / first.len() as f64;
            watch(BenchProgress::Run(round, rounds, mean));
        }
        for subject in subjects {
            self.beside(subject.cleanup.as_ref(), subject, "cleanup")?;
        }
        Ok(subjects
            .iter()
            .zip(trials)
            .map(|(subject, trials)| self.benched(subject, trials))
            .collect())
    }

    /// As many as fill the least time, within their bounds.
    fn rounds(&self, first: Duration) -> u64 {
        let fitting = self.runs.time_min.as_secs_f64() / first.as_secs_f64().max(1e-6);
        let wanted = (fitting as u64).max(self.runs.min).max(1);
        self.runs.max.map_or(wanted, |max| wanted.min(max.max(1)))
    }

    fn benched(&self, subject: &Subject, trials: Vec<Trial>) -> BenchResult {
        let is_prepared = subject.prepare.is_some();
        BenchResult::new(subject, trials, (self.shell, self.runs.warm_up > 0, is_prepared))
    }

    /// One run with its preparation and conclusion.
    fn once(&self, subject: &Subject, occasion: RunPurpose) -> Result<Trial, LabError> {
        self.beside(subject.prepare.as_ref(), subject, "preparation")?;
        let surroundings = RunContext {
            input: &self.input,
            output: &subject.output,
            failures: &self.failures,
            occasion,
            apart: None,
        };
        let trial = subject.program.run(&surroundings)?;
        self.beside(subject.conclude.as_ref(), subject, "conclusion")?;
        Ok(self.shell.map_or(trial, |start| start.off(trial)))
    }

    fn beside(
        &self,
        program: Option<&Program>,
        subject: &Subject,
        what: &'static str,
    ) -> Result<(), LabError> {
        let Some(program) = program else { return Ok(()) };
        let surroundings = RunContext {
            input: &self.input,
            output: &subject.output,
            failures: &FailurePolicy::Fatal,
            occasion: RunPurpose::Beside(what),
            apart: None,
        };
        program.run(&surroundings).map(drop)
    }
}

#[cfg(test)]
mod tests;
