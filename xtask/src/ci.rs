//! Every check in one go: format, tidy, clippy, dependencies, tests in Rust and in Python.
//!
//! Invariant: a failed step never hides a later one; the run fails at the end and names them all.
//! What cannot be checked where it runs is printed as a notice, never left out silently.

mod counts;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};
use crate::{soak, tidy};
use counts::Counts;

/// Directories whose pytest tests belong to the suite, each run by itself.
const PYTHON_TESTS: [&str; 3] = ["python", "examples/news", "examples/fastapi-cluster"];
/// Directories with what of them mypy checks.
const PYTHON_TYPED: [(&str, &str); 2] = [("python", "tidegate"), ("examples/fastapi-cluster", ".")];
const PYTHON: &str = "target/venv/bin/python";
const UNREACHABLE: &str = "failed to fetch advisory database";

pub(crate) fn run() -> Result<()> {
    let mut suite = Suite::default();
    suite.cargo("fmt", &["fmt", "--all", "--check"]);
    suite.step("tidy", "cargo xtask tidy", |_| tidy::run(&[]));
    suite.cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    suite.cargo("deny", &["deny", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    suite.step("advisories", "cargo deny check advisories", |_| check_advisories());
    suite.cargo("test", &["test", "--workspace", "--no-fail-fast"]);
    let gateway = "cargo xtask soak gateway --minutes 0.25 --seed 1";
    suite.step("soak gateway", gateway, |_| soak::short_gateway());
    let events = "cargo xtask soak events --sink sqlite|postgres|mariadb --seed 1";
    suite.step("soak events", events, |_| soak::short_events());
    let workers = "cargo xtask soak workers --minutes 0.25 --seed 1";
    suite.step("soak workers", workers, |_| soak::short_workers());
    suite.step("soak lab", "cargo xtask soak lab --short", |_| soak::short_lab());
    suite.checker("ruff", &["ruff", "check", "--no-cache", "-q", "."], ".");
    suite.checker("ruff format", &["ruff", "format", "--no-cache", "-q", "--check", "."], ".");
    for (dir, what) in PYTHON_TYPED {
        suite.checker("mypy", &["mypy", "--strict", "--cache-dir=/dev/null", what], dir);
    }
    for dir in PYTHON_TESTS {
        if root().join(dir).join("tests").is_dir() {
            suite.python(dir);
        }
    }
    suite.finish()
}

#[derive(Default)]
struct Suite {
    counts: Counts,
    lines: Vec<String>,
    failed: Vec<String>,
}

impl Suite {
    fn cargo(&mut self, name: &str, arguments: &[&str]) {
        let shown = format!("cargo {}", arguments.join(" "));
        self.step(name, &shown, |counts| {
            stream(Command::new("cargo").args(arguments).current_dir(root()), counts)
        });
    }

    fn python(&mut self, dir: &str) {
        let shown = format!("{PYTHON} -m pytest -q {dir}");
        self.step(&format!("pytest {dir}"), &shown, |counts| {
            let mut pytest = Command::new(root().join(PYTHON));
            // No `__pycache__` or `.pytest_cache` in the checkout.
            pytest.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]);
            stream(pytest.current_dir(root().join(dir)), counts)
        });
    }

    /// A module of the environment that looks at Python code.
    fn checker(&mut self, name: &str, words: &[&str], dir: &str) {
        let shown = format!("{PYTHON} -m {} (in {dir})", words.join(" "));
        self.step(&format!("{name} {dir}"), &shown, |_| {
            let mut python = Command::new(root().join(PYTHON));
            execute(python.args(["-B", "-m"]).args(words).current_dir(root().join(dir)))
        });
    }

    fn step(&mut self, name: &str, shown: &str, run: impl FnOnce(&mut Counts) -> Result<()>) {
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

    fn finish(self) -> Result<()> {
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

/// Known vulnerabilities and yanked versions; both need the advisory database.
fn check_advisories() -> Result<()> {
    let output = Command::new("cargo")
        .args(["deny", "--color", "never", "check", "advisories"])
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(root())
        .output()
        .context("starting `cargo deny`")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains(UNREACHABLE) {
        println!("notice: the advisory database is not reachable from here;");
        println!("notice: vulnerabilities and yanked versions were NOT checked");
        return Ok(());
    }
    print!("{text}");
    if !output.status.success() {
        bail!("{}", output.status);
    }
    Ok(())
}
