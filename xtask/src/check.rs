//! Checks what has changed: format and house rules of all, lints and unit tests of some packages.
//!
//! Those are the packages with changed files. It compares the working tree with where the branch
//! left `main`; on `main` that is the last commit.
//! Invariant: it says what it leaves out: packages that use a changed one, integration tests,
//! Python, dependencies. `make test` runs everything (`ci.rs`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checkout::root;
use crate::suite::{Job, Suite};
use crate::{packages, tidy};

/// Checks format, house rules, and the packages that have changed.
pub(crate) fn run() -> Result<()> {
    let changed = changed_files()?;
    let packages = packages_of(&changed);
    let mut suite = Suite::default();
    suite.cargo("fmt", &["fmt", "--all", "--check"]);
    suite.step("tidy", "cargo xtask tidy", || tidy::run(&[]));
    if !packages.is_empty() {
        let programs = suite.compile(&selection(&packages));
        let of_the_package = programs.iter().filter(|program| !program.outside);
        suite.run_all(of_the_package.map(Job::test).collect(), 1);
    }
    println!("\nleft out: {}", left_out(&changed, &packages).join("; "));
    suite.finish()
}

fn selection<'w>(packages: &[&'w str]) -> Vec<&'w str> {
    packages.iter().flat_map(|package| ["--package", package]).collect()
}

/// Returns what differs from `main`, and what git does not know yet.
fn changed_files() -> Result<Vec<String>> {
    let base = git(&["merge-base", "HEAD", "main"]).unwrap_or_else(|_| "HEAD".to_owned());
    let mut files = git(&["diff", "--name-only", base.trim()])?;
    files.push_str(&git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files.lines().map(str::to_owned).collect())
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").args(words).current_dir(root()).output();
    let output = output.context("starting `git`")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`git {}`: {}", words.join(" "), error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the packages that the files belong to, each once.
fn packages_of(files: &[String]) -> Vec<&str> {
    let mut found: Vec<&str> = files.iter().filter_map(|file| packages::of(file)).collect();
    found.sort_unstable();
    found.dedup();
    // A package that was removed leaves its name in the difference.
    found.retain(|name| packages::dir(name).join("src").exists());
    found
}

/// Says what a change of these files may have broken that was not looked at.
fn left_out(files: &[String], packages: &[&str]) -> Vec<String> {
    let mut parts = Vec::new();
    let users = users(packages);
    if !users.is_empty() {
        parts.push(format!("packages that use what has changed ({})", users.join(", ")));
    }
    if files.iter().any(|file| matches!(file.as_str(), "Cargo.toml" | "Cargo.lock")) {
        parts.push("what a change of dependencies means for all others".to_owned());
    }
    if files.iter().any(|file| file.ends_with(".py")) {
        parts.push("Python".to_owned());
    }
    parts.push("integration tests, `cargo deny` and soaks: `make test` runs all".to_owned());
    parts
}

/// Returns the packages whose manifests name one of these, and are none of these.
fn users(packages: &[&str]) -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).into_iter().flatten().flatten();
    let names = crates.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut users: Vec<String> = names.filter(|name| !packages.contains(&name.as_str())).collect();
    users.retain(|name| {
        let manifest = Path::new("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(root().join(manifest)).unwrap_or_default();
        let uses = |used: &&str| {
            manifest.lines().any(|line| line.starts_with(&format!("{used}.workspace")))
        };
        packages.iter().any(uses)
    });
    users.sort_unstable();
    users
}

#[cfg(test)]
mod tests;
