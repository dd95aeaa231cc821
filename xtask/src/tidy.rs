//! Hands over to the package `tidy`, which holds the house rules.
//!
//! It is a package of its own so that `make run` need not compile a parser of Rust.

use std::process::Command;

use anyhow::Result;

use crate::checkout::{execute, root};

/// Runs tidy; `arguments` are passed on.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "tidy", "--"]).args(arguments);
    execute(cargo.current_dir(root()))
}
