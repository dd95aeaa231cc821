//! Hands over to the package `bench`, built for speed.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::root;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--release", "--package", "bench", "--"]).args(arguments);
    let status = cargo.current_dir(root()).status().context("starting `cargo`")?;
    if !status.success() {
        bail!("bench: {status}");
    }
    Ok(())
}
