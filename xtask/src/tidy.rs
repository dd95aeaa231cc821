//! Hands over to the packages `tidy` and `mutants`, which read Rust.
//!
//! They are packages by themselves so that the other commands need not compile a parser of it.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checkout::root;

/// Runs tidy; `arguments` are passed on.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    hand_over("tidy", arguments)
}

/// Runs the program of a package; `arguments` are passed on.
pub(crate) fn hand_over(package: &str, arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", package, "--"]).args(arguments);
    let status = cargo.current_dir(root()).status().context("starting `cargo`")?;
    ensure!(status.success(), "{package}: {status}");
    Ok(())
}
