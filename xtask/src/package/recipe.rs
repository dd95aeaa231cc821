//! What a build of the program for others is told, so that two of the same sources are the same.
//!
//! Paths of this machine would be in messages of panics and in line tables, and mimalloc has the
//! time of its compile in a message. So both compilers are told other names for paths, and the C
//! compiler another time. A macro that draws names at random gets a seed.
//! Invariant: nothing of the machine but its compilers, linker and C library shapes the program.
//! Elsewhere: two builds and their comparison (`reproduce.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Names of the checkout and of the sources of other packages within the program.
const CHECKOUT: &str = "/tidegate";
const SOURCES: &str = "/packages";
/// 1980-01-01, the oldest that every tool can say. A time of a commit would compile all C again.
const TIME: &str = "315532800";
/// `const-random` makes names for macros of it, under `mongodb`.
const SEED: &str = "tidegate";
/// Between flags in cargo's variable, since paths may have blanks.
const SEPARATOR: &str = "\x1f";

/// Lets a `cargo build` in the checkout be repeatable.
pub(super) fn make_repeatable(cargo: &mut Command, checkout: &Path) -> Result<()> {
    // A path within another goes last: the last that fits is taken.
    rename(cargo, &[(&sources(checkout)?, SOURCES), (checkout, CHECKOUT)]);
    Ok(())
}

/// Gives these directories other names, and the compile another time.
fn rename(command: &mut Command, names: &[(&Path, &str)]) {
    let flags = |flag: &str, separator: &str| {
        let flags = names.iter().map(|(path, name)| format!("{flag}={}={name}", path.display()));
        flags.collect::<Vec<_>>().join(separator)
    };
    command.env("CARGO_ENCODED_RUSTFLAGS", flags("--remap-path-prefix", SEPARATOR));
    for variable in ["CFLAGS", "CXXFLAGS"] {
        command.env(variable, flags("-ffile-prefix-map", " "));
    }
    command.env("SOURCE_DATE_EPOCH", TIME).env("CONST_RANDOM_SEED", SEED);
    command.env("CARGO_INCREMENTAL", "0");
}

/// The directory that holds the sources of the packages of others.
fn sources(checkout: &Path) -> Result<PathBuf> {
    let packages = known_packages(checkout)?;
    let other = packages.iter().find(|package| package["source"].is_string());
    let manifest = other.and_then(|package| package["manifest_path"].as_str());
    let dir = manifest.and_then(|manifest| Path::new(manifest).ancestors().nth(2));
    Ok(dir.context("no package of others")?.to_path_buf())
}

/// What `cargo metadata` says of each package of the lock file.
pub(super) fn known_packages(checkout: &Path) -> Result<Vec<Value>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1"]).current_dir(checkout);
    let output = cargo.output().context("starting `cargo`")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo metadata`: {}", error.trim());
    let mut known: Value = serde_json::from_slice(&output.stdout).context("`cargo metadata`")?;
    match known["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => bail!("`cargo metadata` names no packages"),
    }
}

#[cfg(test)]
mod tests;
