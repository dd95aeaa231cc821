//! Every check in one go: format, tidy, clippy, dependencies, tests in Rust and in Python.
//!
//! What cannot be checked where it runs is printed as a notice, never left out silently.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::root;
use crate::suite::Suite;
use crate::{soak, tidy};

/// Directories whose pytest tests belong to the suite, each run by itself.
const PYTHON_TESTS: [&str; 3] = ["python", "examples/news", "examples/fastapi-cluster"];
/// Directories with what of them mypy checks.
const PYTHON_TYPED: [(&str, &str); 2] = [("python", "tidegate"), ("examples/fastapi-cluster", ".")];
const UNREACHABLE: &str = "failed to fetch advisory database";

pub(crate) fn run() -> Result<()> {
    let mut suite = Suite::default();
    suite.cargo("fmt", &["fmt", "--all", "--check"]);
    suite.step("tidy", "cargo xtask tidy", || tidy::run(&[]));
    suite.cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    suite.cargo("deny", &["deny", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    suite.step("advisories", "cargo deny check advisories", check_advisories);
    suite.cargo("test", &["test", "--workspace", "--no-fail-fast"]);
    let gateway = "cargo xtask soak gateway --minutes 0.25 --seed 1";
    suite.step("soak gateway", gateway, soak::short_gateway);
    let events = "cargo xtask soak events --sink sqlite|postgres|mariadb --seed 1";
    suite.step("soak events", events, soak::short_events);
    let workers = "cargo xtask soak workers --minutes 0.25 --seed 1";
    suite.step("soak workers", workers, soak::short_workers);
    suite.step("soak lab", "cargo xtask soak lab --short", soak::short_lab);
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
