//! Runs every check: format, tidy, dependencies, clippy, tests in Rust and Python, types, soaks.
//!
//! Jobs run beside each other, one more than cores; the laboratory's soak runs alone, since it
//! measures latency.
//! Invariant: a failed step hides no other (`suite.rs`). An advisory database that is not reachable
//! is a notice. Tests that cannot run here say so by `testkit::require`, and are counted.
//! To add a check: a step in `run`, or a job in `jobs`. Elsewhere: the quick one (`check.rs`), what
//! the machine lacks (`setup.rs`).

use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::budget::Budget;
use crate::checkout::root;
use crate::compile::TestProgram;
use crate::setup::CARGO_DENY;
use crate::suite::{Job, Suite};
use crate::{soak, tidy};

/// Directories whose pytest tests belong to the suite, each run by itself.
const PYTHON_TESTS: [&str; 4] =
    ["python", "examples/news", "examples/fastapi-cluster", "packaging"];
/// Directories with what of them mypy checks.
const PYTHON_TYPED: [(&str, &str); 2] = [("python", "tidegate"), ("examples/fastapi-cluster", ".")];
/// The sinks of the build that `make run` makes.
const WITHOUT_DRIVERS: [&str; 8] =
    ["clippy", "--package", "sinks", "--no-default-features", "--lib", "--", "-D", "warnings"];
const DENIED: [&str; 6] = ["--log-level", "error", "check", "bans", "licenses", "sources"];
const UNREACHABLE: &str = "failed to fetch advisory database";

/// Runs everything; with `hold_budget`, a package that costs more than it may fails the run.
pub(crate) fn run(hold_budget: bool) -> Result<()> {
    let budget = Budget::read()?;
    let mut suite = Suite::default();
    suite.cargo("fmt", &["fmt", "--all", "--check"]);
    suite.step("tidy", "cargo xtask tidy", || tidy::run(&[]));
    suite.step("deny", "cargo deny check bans licenses sources", check_dependencies);
    suite.step("advisories", "cargo deny check advisories", check_advisories);
    let programs = suite.compile(&["--workspace"]);
    // Tidegate compiles with either: what leaves the crate is the same.
    suite.cargo("sinks without drivers", &WITHOUT_DRIVERS);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // One more than cores: many tests wait for a clock or another process.
    suite.run_all(jobs(&programs, &budget), cores + 1);
    // It measures latency, so nothing of ours runs beside it.
    suite.run_all(vec![soak::lab()], 1);
    let (table, over) = suite.spent().against(&budget);
    print!("\n{table}");
    suite.finish()?;
    ensure!(!hold_budget || over.is_empty(), "over their budget: {}", over.join(", "));
    Ok(())
}

/// What may run beside each other: the longest first, so that none of them ends alone.
fn jobs(programs: &[TestProgram], budget: &Budget) -> Vec<Job> {
    let mut jobs: Vec<Job> = programs.iter().map(Job::test).collect();
    jobs.extend(soak::short());
    jobs.extend(PYTHON_TESTS.iter().map(|dir| Job::pytest(dir)));
    for (dir, what) in PYTHON_TYPED {
        jobs.push(Job::python("mypy", &["mypy", "--strict", "--cache-dir=/dev/null", what], dir));
    }
    jobs.push(Job::python("ruff", &["ruff", "check", "--no-cache", "-q", "."], "."));
    let format = ["ruff", "format", "--no-cache", "-q", "--check", "."];
    jobs.push(Job::python("ruff format", &format, "."));
    let longest_first = |a: &Job, b: &Job| {
        budget.test_seconds(&b.package).total_cmp(&budget.test_seconds(&a.package))
    };
    jobs.sort_by(longest_first);
    jobs
}

fn deny() -> Command {
    let mut deny = Command::new(root().join(CARGO_DENY));
    deny.current_dir(root());
    deny
}

fn check_dependencies() -> Result<()> {
    let status = deny().args(DENIED).status().context("starting `cargo-deny`")?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// Known vulnerabilities and yanked versions; both need the advisory database.
fn check_advisories() -> Result<()> {
    let output = deny()
        .args(["--color", "never", "check", "advisories"])
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .context("starting `cargo-deny`")?;
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
