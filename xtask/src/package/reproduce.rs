//! Builds a program twice, in two directories, and compares it byte by byte.
//!
//! Each build has a copy of the checkout, at a path of another length, and compiles everything. So
//! what depends on the path, on the time or on the order of work shows.
//! Invariant: copies and programs that differ are kept, to be looked at; equal ones are removed.
//! Never here: another machine, with another compiler or C library. The sum that is printed can be
//! compared with one from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::recipe::make_repeatable;
use super::{commit, portable, sums};
use crate::checkout::{execute, root};

/// Where the copies are, and each within.
const COPIES: &str = "target/reproduce";
const PLACES: [&str; 2] = ["one", "another/place/for-the-second"];

/// What may follow `package reproduce`.
#[derive(Debug)]
struct Repeated<'a> {
    package: &'a str,
    profile: &'a str,
}

/// Builds twice, and fails unless both programs are the same.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let what = read(arguments)?;
    let copies = root().join(COPIES);
    if copies.exists() {
        fs::remove_dir_all(&copies).with_context(|| format!("removing `{COPIES}`"))?;
    }
    // All of it before the builds, in which somebody may go on to edit.
    let commit = commit();
    let checkouts = PLACES.map(|place| copies.join(place));
    for checkout in &checkouts {
        copy(&root(), checkout)?;
    }
    let mut built = Vec::new();
    for checkout in &checkouts {
        let program = build(checkout, &what, commit.as_deref())?;
        println!("{}  {}", sums::of(&program)?, program.display());
        built.push(program);
    }
    let [one, other] = &built[..] else { bail!("two programs were to be built") };
    match first_difference(&fs::read(one)?, &fs::read(other)?) {
        Some(at) => bail!("`{}` differs from byte {at} on; both are kept", what.package),
        None => println!("`{}` is the same in both, byte by byte", what.package),
    }
    fs::remove_dir_all(&copies).with_context(|| format!("removing `{COPIES}`"))
}

fn read<'a>(arguments: &[&'a str]) -> Result<Repeated<'a>> {
    let mut what = Repeated { package: "tidegate", profile: "release" };
    for pair in arguments.chunks(2) {
        match *pair {
            ["--package", package] => what.package = package,
            ["--profile", profile] => what.profile = profile,
            _ => bail!("`{}` is none of --package NAME, --profile NAME", pair.join(" ")),
        }
    }
    Ok(what)
}

/// Copies what git knows, or would know.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(from);
    let output = git.output().context("starting `git`")?;
    ensure!(output.status.success(), "`git ls-files`: {}", output.status);
    for name in String::from_utf8(output.stdout).context("names of files")?.lines() {
        let (file, copied) = (from.join(name), to.join(name));
        // A file that was removed and not yet committed is still listed.
        if file.exists() {
            fs::create_dir_all(copied.parent().unwrap_or(to))?;
            fs::copy(&file, &copied).with_context(|| format!("copying `{name}`"))?;
        }
    }
    Ok(())
}

fn build(checkout: &Path, what: &Repeated<'_>, commit: Option<&str>) -> Result<PathBuf> {
    let target = checkout.join("target");
    let mut cargo = portable::cargo_build()?;
    cargo.args(["--locked", "--package", what.package, "--profile", what.profile]);
    cargo.arg("--target-dir").arg(&target).current_dir(checkout);
    if let Some(commit) = commit {
        cargo.env("TIDEGATE_COMMIT", commit);
    }
    make_repeatable(&mut cargo, checkout)?;
    execute(&mut cargo)?;
    Ok(target.join(portable::dir(what.profile)).join(what.package))
}

/// Where two programs begin to differ.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let shorter = one.len().min(other.len());
    let differs = one.iter().zip(other).position(|(a, b)| a != b);
    differs.or((one.len() != other.len()).then_some(shorter))
}

#[cfg(test)]
mod tests;
