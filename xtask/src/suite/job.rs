//! Runs commands several at a time, and measures what each took.
//!
//! Jobs begin in the order given. Standard output and error of a job go to one file, which the next
//! job in its place overwrites. A command that cannot be started is a failed job.
//! Also here: jobs of a test program and of Python tools, which run in `target/venv`. Elsewhere:
//! soaks (`soak.rs`).

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};

use crate::checkout::root;
use crate::compile::{TestProgram, beside};
use crate::cpu;

const PYTHON: &str = "target/venv/bin/python";

/// A command to run, and what it costs is noted for.
#[derive(Debug)]
pub(crate) struct Job {
    pub name: String,
    pub package: String,
    /// How a reader runs the same.
    pub shown: String,
    pub command: Command,
}

/// A job that has ended.
#[derive(Debug)]
pub(super) struct Done {
    pub job: Job,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub output: String,
    pub outcome: Result<()>,
}

impl Job {
    pub(crate) fn test(program: &TestProgram) -> Job {
        let shown = program.shown();
        let name = shown.trim_start_matches("cargo test --package ").replace("--", "");
        Job { name, package: program.package.clone(), shown, command: program.command() }
    }

    /// The pytest tests of a directory.
    pub(crate) fn pytest(dir: &str) -> Job {
        // No `__pycache__` or `.pytest_cache` in the checkout.
        // A test that is skipped says the reason.
        Job::python("pytest", &["pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests"], dir)
    }

    /// A module of the environment that looks at Python code.
    pub(crate) fn python(name: &str, words: &[&str], dir: &str) -> Job {
        let mut command = Command::new(root().join(PYTHON));
        command.args(["-B", "-m"]).args(words).current_dir(root().join(dir));
        Job {
            name: format!("{name} {dir}"),
            package: dir.to_owned(),
            shown: format!("{PYTHON} -m {} (in {dir})", words.join(" ")),
            command,
        }
    }
}

/// Runs the jobs from the first on, `width` at a time, and hands each over when it has ended.
pub(super) fn run_all(jobs: Vec<Job>, width: usize, mut done: impl FnMut(Done)) {
    let waiting = Mutex::new(jobs.into_iter());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for slot in 0..width {
            let (waiting, sender) = (&waiting, sender.clone());
            scope.spawn(move || {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(job) = next else { break };
                    let log = beside(&format!("xtask-job-{slot}.log"));
                    drop(sender.send(run(job, &log)));
                }
            });
        }
        drop(sender);
        receiver.iter().for_each(&mut done);
    });
}

fn run(mut job: Job, log: &Path) -> Done {
    let start = Instant::now();
    let (cpu_seconds, outcome) = match run_to_end(&mut job.command, log) {
        Ok((cpu_seconds, outcome)) => (cpu_seconds, outcome),
        Err(error) => (0.0, Err(error)),
    };
    let output = fs::read(log).unwrap_or_default();
    let output = String::from_utf8_lossy(&output).into_owned();
    Done { job, seconds: start.elapsed().as_secs_f64(), cpu_seconds, output, outcome }
}

fn run_to_end(command: &mut Command, log: &Path) -> Result<(f64, Result<()>)> {
    let program = Path::new(command.get_program()).display().to_string();
    let file = File::create(log).with_context(|| format!("creating `{}`", log.display()))?;
    let both = file.try_clone().context("opening a log twice")?;
    command.stdin(Stdio::null()).stdout(file).stderr(both);
    let mut child = command.spawn().with_context(|| format!("starting `{program}`"))?;
    let (status, cpu_seconds) = cpu::wait(&mut child)?;
    let outcome = match status.success() {
        true => Ok(()),
        false => Err(anyhow!("{status}")),
    };
    Ok((cpu_seconds, outcome))
}

#[cfg(test)]
mod tests;
