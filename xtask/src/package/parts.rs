//! Reads which packages a build takes, with their licences and which needs which.
//!
//! `cargo tree` knows them. `sbom.rs` lists them all, `notices.rs` collects the licences of what is
//! linked. Invariant: packages are in the order of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checkout::root;

/// The program, as `cargo tree` names it.
pub(super) const PROGRAM: &str = "tidegate";
/// What is linked, and all that a build takes.
pub(super) const LINKED: &str = "normal,no-proc-macro";
pub(super) const BUILT: &str = "normal,build";

/// A package of the build.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Part {
    pub(super) licence: String,
    /// One of ours lies in the checkout.
    pub(super) ours: bool,
    pub(super) needs: BTreeSet<String>,
}

/// The packages of a build by name and version, as in `anyhow 1.0.104`.
pub(super) type Parts = BTreeMap<String, Part>;

/// The packages of others that are linked, in order, with their licences.
pub(super) fn linked_of_others() -> Result<Vec<(String, String)>> {
    let parts = parts(&tree(LINKED)?)?.into_iter().filter(|(_, part)| !part.ours);
    Ok(parts.map(|(name, part)| (name, part.licence)).collect())
}

/// Asks cargo: a line of depth, package and licence for each.
pub(super) fn tree(edges: &str) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--locked", "--package", PROGRAM, "--edges", edges]);
    cargo.args(["--prefix", "depth", "--format", "|{p}|{l}|"]).current_dir(root());
    let output = cargo.output().context("starting `cargo`")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo tree`: {}", error.trim());
    String::from_utf8(output.stdout).context("names of packages")
}

/// Reads the lines: a package is needed by the one above it that is less deep.
pub(super) fn parts(tree: &str) -> Result<Parts> {
    let mut parts = Parts::new();
    let mut above: Vec<String> = Vec::new();
    for line in tree.lines() {
        let read = || {
            let (depth, rest) = line.split_once('|')?;
            let (package, rest) = rest.split_once('|')?;
            let (licence, _) = rest.split_once('|')?;
            let (name, rest) = package.split_once(" v")?;
            let (version, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let name = format!("{name} {version}");
            Some((depth.parse::<usize>().ok()?, name, rest.starts_with("(/"), licence))
        };
        let (depth, name, ours, licence) = read().with_context(|| format!("in `{line}`"))?;
        above.truncate(depth);
        if let Some(parent) = above.last().and_then(|parent| parts.get_mut(parent)) {
            parent.needs.insert(name.clone());
        }
        let part = parts.entry(name.clone()).or_default();
        (part.licence, part.ours) = (expression(licence), ours);
        above.push(name);
    }
    Ok(parts)
}

/// A licence as SPDX writes it: old packages have a slash for "or".
fn expression(licence: &str) -> String {
    let choices: Vec<&str> = licence.split('/').map(str::trim).collect();
    choices.join(" OR ")
}
