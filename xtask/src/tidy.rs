//! Hands over to the package `tidy`, which holds the house rules.
//!
//! It is a package of its own so that the other commands need not compile a parser of Rust.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checkout::root;

/// Runs tidy; `arguments` are passed on.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "tidy", "--"]).args(arguments);
    let status = cargo.current_dir(root()).status().context("starting `cargo`")?;
    ensure!(status.success(), "tidy: {status}");
    Ok(())
}
