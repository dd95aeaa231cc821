//! Results on disk: one file of JSON lines per row, the first line about the run.
//!
//! A row that runs again replaces its file; the others keep theirs, so one row can be measured
//! without the rest.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::machine;
use crate::measure::Measurement;
use crate::peers;
use crate::rows::Row;
use crate::setup::Setup;

/// A row's outcome.
pub(crate) struct RowResult {
    /// Under which circumstances.
    pub about: About,
    /// The figures.
    pub measurements: Vec<Measurement>,
}

/// The circumstances of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    /// The row's name.
    pub row: String,
    /// What it measures.
    pub what: String,
    /// UTC.
    pub date: String,
    /// Of the checkout; ends in `+` when files differed from it.
    pub commit: String,
    /// The command that repeats it.
    pub command: String,
    /// The machine.
    pub cpu: String,
    /// Its kernel.
    pub kernel: String,
    /// Everything that was measured, with versions.
    pub versions: Vec<String>,
    /// Rounds that the medians are taken over.
    pub rounds: usize,
    /// Share of the machine's CPU time that other programs used meanwhile.
    pub others: f64,
}

impl RowResult {
    /// Puts the figures of `row` together with the circumstances.
    pub(crate) fn new(
        row: &Row,
        setup: &Setup,
        others: f64,
        measurements: Vec<Measurement>,
    ) -> Self {
        let quick = if setup.quick { " --quick" } else { "" };
        let about = About {
            row: row.name.to_owned(),
            what: row.what.to_owned(),
            date: machine::today(),
            commit: commit(setup),
            command: format!("cargo run --release -p bench -- {}{quick} --write", row.name),
            cpu: machine::cpu_model(),
            kernel: machine::kernel(),
            versions: peers::versions(setup, row.peers),
            rounds: setup.rounds,
            others,
        };
        Self { about, measurements }
    }
}

/// Writes the row's file.
pub(crate) fn store(setup: &Setup, result: &RowResult) -> Result<()> {
    let mut lines = serde_json::to_string(&result.about)? + "\n";
    for measurement in &result.measurements {
        lines += &(serde_json::to_string(measurement)? + "\n");
    }
    let path = path(setup, &result.about.row);
    fs::write(&path, lines).with_context(|| format!("write `{}`", path.display()))
}

/// Reads the last result of a row; None when it never ran.
pub(crate) fn last(setup: &Setup, row: &Row) -> Result<Option<RowResult>> {
    let path = path(setup, row.name);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
    let mut lines = text.lines();
    let parse = || format!("read `{}`", path.display());
    let about = serde_json::from_str(lines.next().unwrap_or("")).with_context(parse)?;
    let measurements =
        lines.map(serde_json::from_str).collect::<Result<_, _>>().with_context(parse)?;
    Ok(Some(RowResult { about, measurements }))
}

fn path(setup: &Setup, row: &str) -> std::path::PathBuf {
    setup.root().join("bench/results").join(format!("{row}.jsonl"))
}

fn commit(setup: &Setup) -> String {
    let root = setup.root().to_string_lossy().into_owned();
    let hash = machine::first_line("git", &["-C", &root, "rev-parse", "--short", "HEAD"]);
    let status = ["-C", &root, "status", "--porcelain", "--", "crates", "bench/src"];
    let dirty = machine::first_line("git", &status);
    if dirty == machine::MISSING { hash } else { hash + "+" }
}
