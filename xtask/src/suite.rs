//! Runs steps one after the other, then jobs several at a time, and sums up what came of them.
//!
//! Invariant: a failed step never hides a later one. `finish` fails if one failed, and names them
//! all. A job's output is printed whole when it has ended. After a failed compile there are no test
//! programs to run.
//! Elsewhere: which steps there are (`ci.rs`, `check.rs`), running jobs (`suite/job.rs`), reading
//! counts (`suite/counts.rs`).

mod counts;
mod job;

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::budget::Spent;
use crate::checkout::{execute, root};
use crate::compile::{self, TestProgram};
use counts::Counts;
use job::Done;
pub(crate) use job::Job;

/// Runs each step at once, and remembers how it ended.
#[derive(Default)]
pub(crate) struct Suite {
    counts: Counts,
    spent: Spent,
    lines: Vec<String>,
    failed: Vec<String>,
}

impl Suite {
    pub(crate) fn cargo(&mut self, name: &str, arguments: &[&str]) {
        let shown = format!("cargo {}", arguments.join(" "));
        self.step(name, &shown, || {
            execute(Command::new("cargo").args(arguments).current_dir(root()))
        });
    }

    /// Compiles and lints what the selection of packages says, and returns its test programs.
    pub(crate) fn compile(&mut self, selection: &[&str]) -> Vec<TestProgram> {
        let shown =
            format!("cargo test --no-run --all-targets {}, with clippy", selection.join(" "));
        let mut programs = Vec::new();
        self.step("compile and lint", &shown, || {
            programs = compile::tests(selection)?;
            Ok(())
        });
        programs
    }

    /// Runs a step that counts no tests.
    pub(crate) fn step(&mut self, name: &str, shown: &str, run: impl FnOnce() -> Result<()>) {
        println!("\n==> {name}: {shown}");
        let start = Instant::now();
        let outcome = run();
        self.note(name, start.elapsed().as_secs_f64(), &outcome);
    }

    /// Runs the jobs, `width` at a time; each one's output is printed whole when it has ended.
    pub(crate) fn run_all(&mut self, jobs: Vec<Job>, width: usize) {
        job::run_all(jobs, width, |Done { job, seconds, cpu_seconds, output, outcome }| {
            println!("\n==> {}: {}", job.name, job.shown);
            for line in output.lines() {
                println!("{line}");
                self.counts.add_line(line);
            }
            self.spent.tested(&job.package, cpu_seconds);
            self.note(&job.name, seconds, &outcome);
        });
    }

    fn note(&mut self, name: &str, seconds: f64, outcome: &Result<()>) {
        let verdict = match outcome {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        let line = format!("{name:<30} {seconds:>7.1} s  {verdict}");
        println!("{line}");
        self.lines.push(line);
        if outcome.is_err() {
            self.failed.push(name.to_owned());
        }
    }

    /// Returns what each package has cost, with its last compile.
    pub(crate) fn spent(&mut self) -> Spent {
        self.spent.compiled(compile::seconds());
        std::mem::take(&mut self.spent)
    }

    pub(crate) fn finish(self) -> Result<()> {
        println!();
        for line in &self.lines {
            println!("{line}");
        }
        println!("{}", self.counts);
        if !self.failed.is_empty() {
            bail!("failed steps: {}", self.failed.join(", "));
        }
        Ok(())
    }
}
