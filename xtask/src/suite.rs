//! Steps that run one after the other, with what they counted and took.
//!
//! Invariant: a failed step never hides a later one; the run fails at the end and names them all.

mod counts;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};
use counts::Counts;

const PYTHON: &str = "target/venv/bin/python";

/// Runs each step at once, and remembers how it ended.
#[derive(Default)]
pub(crate) struct Suite {
    counts: Counts,
    lines: Vec<String>,
    failed: Vec<String>,
}

impl Suite {
    pub(crate) fn cargo(&mut self, name: &str, arguments: &[&str]) {
        let shown = format!("cargo {}", arguments.join(" "));
        self.counted(name, &shown, |counts| {
            stream(Command::new("cargo").args(arguments).current_dir(root()), counts)
        });
    }

    pub(crate) fn python(&mut self, dir: &str) {
        let shown = format!("{PYTHON} -m pytest -q {dir}");
        self.counted(&format!("pytest {dir}"), &shown, |counts| {
            let mut pytest = Command::new(root().join(PYTHON));
            // No `__pycache__` or `.pytest_cache` in the checkout.
            pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]);
            stream(pytest.current_dir(root().join(dir)), counts)
        });
    }

    /// A module of the environment that looks at Python code.
    pub(crate) fn checker(&mut self, name: &str, words: &[&str], dir: &str) {
        let shown = format!("{PYTHON} -m {} (in {dir})", words.join(" "));
        self.step(&format!("{name} {dir}"), &shown, || {
            let mut python = Command::new(root().join(PYTHON));
            execute(python.args(["-B", "-m"]).args(words).current_dir(root().join(dir)))
        });
    }

    /// Runs a step that counts no tests.
    pub(crate) fn step(&mut self, name: &str, shown: &str, run: impl FnOnce() -> Result<()>) {
        self.counted(name, shown, |_| run());
    }

    fn counted(&mut self, name: &str, shown: &str, run: impl FnOnce(&mut Counts) -> Result<()>) {
        println!("\n==> {name}: {shown}");
        let start = Instant::now();
        let outcome = run(&mut self.counts);
        let seconds = start.elapsed().as_secs_f64();
        let verdict = match &outcome {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        let line = format!("{name:<22} {seconds:>7.1} s  {verdict}");
        println!("{line}");
        self.lines.push(line);
        if outcome.is_err() {
            self.failed.push(name.to_owned());
        }
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

/// Runs the command, passes its output on, and adds up the test results that it prints.
fn stream(command: &mut Command, counts: &mut Counts) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{program}`"))?;
    let output = child.stdout.take().context("the child has no stdout")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        counts.add_line(&line);
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{status}");
    }
    Ok(())
}
