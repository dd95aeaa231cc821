//! Runs steps one after the other, then jobs several at a time, and sums up what came of them.
//!
//! Invariant: a failed step never hides a later one. `finish` fails if one failed, and names them
//! all, with the last lines of each. A job's output is printed whole when it has ended. After a
//! failed compile there are no test programs to run.
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

/// Lines of a failed job that are printed again at the very end, where a log is read first.
const LAST_LINES: usize = 15;

/// Runs each step at once, and remembers how it ended.
#[derive(Default)]
pub(crate) struct Suite {
    counts: Counts,
    spent: Spent,
    lines: Vec<String>,
    failed: Vec<Failed>,
}

struct Failed {
    name: String,
    /// The end of what it printed; nothing of a step that printed for itself.
    last_lines: Vec<String>,
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
        self.note(name, start.elapsed().as_secs_f64(), "", &outcome);
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
            self.note(&job.name, seconds, &output, &outcome);
        });
    }

    fn note(&mut self, name: &str, seconds: f64, output: &str, outcome: &Result<()>) {
        let verdict = match outcome {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        let line = format!("{name:<30} {seconds:>7.1} s  {verdict}");
        println!("{line}");
        self.lines.push(line);
        if outcome.is_err() {
            let lines: Vec<&str> = output.lines().collect();
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            let last_lines = last.iter().map(|line| (*line).to_owned()).collect();
            self.failed.push(Failed { name: name.to_owned(), last_lines });
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
        if self.failed.is_empty() {
            return Ok(());
        }
        for Failed { name, last_lines } in &self.failed {
            if !last_lines.is_empty() {
                println!("\n{name} failed; it ended with:\n{}", last_lines.join("\n"));
            }
        }
        let names: Vec<&str> = self.failed.iter().map(|failed| failed.name.as_str()).collect();
        bail!("failed steps: {}", names.join(", "))
    }
}
