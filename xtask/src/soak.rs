//! Runs the program `soak` on the binary, by hand or as short jobs of `make test`.
//!
//! By hand both are built first, the binary for release with `--release`. Jobs take what the
//! compile of all tests has put beside this program. Their seed is fixed, so a failure is met
//! again.
//! Also here: the whole laboratory with the count of its false alarms, an hour. Elsewhere: the
//! faults themselves (package `soak`).

use std::process::Command;

use anyhow::{Context, Result};

use crate::checkout::{execute, root};
use crate::compile::beside;
use crate::suite::Job;

/// Sets of each cell of the count of false alarms, and of that of combs that are found.
const FALSE_ALARM_SETS: &str = "1000";
const POWER_SETS: &str = "60";
/// Seconds with faults in `make test`; the rest of a run takes a few more.
const SHORT_MINUTES: &str = "0.25";
/// The seed of `make test`: a failure there is met again by the same command.
const SHORT_SEED: &str = "1";

/// How often the record process is killed at random in `make test`, by sink.
const SHORT_KILLS: [(&str, &str); 3] = [("sqlite", "200"), ("postgres", "40"), ("mariadb", "40")];

/// Damaged journals and steps of the clock in `make test`, in the run on SQLite.
const SHORT_JOURNALS: [&str; 4] = ["--damages", "12", "--clocks", "1"];

/// Soaks what `arguments` name: `gateway`, `events`, `statsd`, `workers`, `models` or `lab`, then
/// options of `soak`; with `--release`, the release binary.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let release = arguments.contains(&"--release");
    let profile: &[&str] = if release { &["--release"] } else { &[] };
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--package", "tidegate", "--bin", "tidegate"]);
    execute(build.args(profile).current_dir(root()))?;
    let profile_dir = if release { "release" } else { "debug" };
    // Not `target`: who runs cargo may keep its directory elsewhere, and this program lies in it.
    let program = std::env::current_exe().context("find this program")?;
    let built = program.ancestors().nth(2).context("find the directory of what cargo builds")?;
    let binary = built.join(profile_dir).join("tidegate");
    let mut soak = Command::new("cargo");
    soak.args(["run", "--quiet", "--package", "soak", "--"]);
    soak.args(arguments.iter().filter(|argument| **argument != "--release"));
    execute(soak.arg("--binary").arg(binary).current_dir(root()))
}

/// The laboratory before every known cause, and the count of its false alarms: an hour.
pub(crate) fn whole_lab() -> Result<()> {
    run(&["lab", "--release"])?;
    let mut calibrate = Command::new("cargo");
    calibrate.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "verdicts",
        "--example",
        "calibrate",
    ]);
    calibrate.args(["--", FALSE_ALARM_SETS, POWER_SETS, "combs"]);
    execute(calibrate.current_dir(root()))
}

/// The short runs that belong to every check, but for the laboratory's.
pub(crate) fn short() -> Vec<Job> {
    let mut jobs = Vec::new();
    for (sink, kills) in SHORT_KILLS {
        let mut words = vec!["events", "--sink", sink, "--kills", kills, "--seed", SHORT_SEED];
        if sink == "sqlite" {
            words.extend(SHORT_JOURNALS);
        }
        jobs.push(job(&format!("soak events {sink}"), &words));
    }
    for what in ["gateway", "statsd", "workers", "models"] {
        let words = [what, "--minutes", SHORT_MINUTES, "--seed", SHORT_SEED];
        jobs.push(job(&format!("soak {what}"), &words));
    }
    let words = ["gateway", "--attacks", "--minutes", SHORT_MINUTES, "--seed", SHORT_SEED];
    jobs.push(job("soak attacks", &words));
    jobs
}

/// The short run of the laboratory that belongs to every check.
pub(crate) fn lab() -> Job {
    job("soak lab", &["lab", "--short"])
}

/// A run of what the compile of all tests has put beside this program.
fn job(name: &str, words: &[&str]) -> Job {
    let mut command = Command::new(beside("soak"));
    command.args(words).arg("--binary").arg(beside("tidegate")).current_dir(root());
    let shown = format!("cargo xtask soak {}", words.join(" "));
    Job { name: name.to_owned(), package: "soak".to_owned(), shown, command }
}
