//! Sets up the peers and a release build, and hands over to the package `bench`, built for speed.
//!
//! With `--list`, `--help` or `--version` nothing is set up. A peer that cannot be set up is a
//! notice; `bench` leaves its rows out. Arguments are passed on as they are.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};
use crate::setup::{self, Stage};

/// Arguments with which nothing is measured.
const LOOKS: [&str; 4] = ["--list", "--help", "-h", "--version"];

/// Runs the rows that `arguments` name; a row whose peer cannot be set up is left out by `bench`.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    if !arguments.iter().any(|argument| LOOKS.contains(argument)) {
        if let Err(error) = setup::run(Stage::Bench) {
            println!("notice: {error:#}; rows that need it are left out");
        }
        let mut build = Command::new("cargo");
        execute(build.args(["build", "--release", "--bin", "tidegate"]).current_dir(root()))?;
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--release", "--package", "bench", "--"]).args(arguments);
    let status = cargo.current_dir(root()).status().context("starting `cargo`")?;
    if !status.success() {
        bail!("bench: {status}");
    }
    Ok(())
}
