//! Asks whether the tests of a crate notice changes to its code, with cargo-mutants.
//!
//! cargo-mutants changes one function or operator at a time and runs the crate's unit tests. A
//! mutant survives if they pass. `--sample` tries so many, drawn by `--seed`; the same names are
//! drawn again from the same code. Not viable are those that do not compile; they do not count.
//! Tests that take seconds are left out at first, and tried on those that survive.
//! Mutants that cannot be told from the code stand in `EQUAL`, each with the reason; they are not
//! tried. `--file` tries only those of matching files, also when another crate's tests are the
//! ones that matter.
//! It fails when fewer than `KILLED_MIN` of the viable mutants are killed. The survivors stay in
//! `target/mutants/CRATE/mutants.out/missed.txt`. CI does not run it: 200 mutants take an hour or
//! more.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::checkout::{execute, root};

/// The share of viable mutants that tests must kill, in percent.
const KILLED_MIN: usize = 92;
const VERSION: &str = "27.1.0";
const TOOLS: &str = "target/tools";
/// Mutants at a time, each with a target directory of its own. In a shared one, one would run the
/// tests of another.
const JOBS: &str = "3";
/// Mutants that do what the code does: where each is, a part of its name, and why.
const EQUAL: &str = include_str!("mutants/equal.txt");
/// Tests that take seconds.
const SLOW: &str = include_str!("mutants/slow.txt");

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options<'a> {
    package: &'a str,
    sample: Option<usize>,
    seed: u64,
    file: Option<&'a str>,
}

/// What became of the mutants.
#[derive(Debug, Default)]
struct Outcomes {
    killed: usize,
    survived: Vec<String>,
    unviable: usize,
}

/// Tries the mutants of one crate.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = parse(arguments)?;
    let program = installed()?;
    let all = list(&program, &options)?;
    let tried = sample(&all, &options);
    ensure!(!tried.is_empty(), "`{}` has no mutants there", options.package);
    println!(
        "{} of {} mutants of `{}`, seed {}",
        tried.len(),
        all.len(),
        options.package,
        options.seed
    );
    let mut outcomes = attempt(&program, &options, &tried, true)?;
    if !outcomes.survived.is_empty() {
        let again = attempt(&program, &options, &outcomes.survived, false)?;
        outcomes.killed += again.killed;
        outcomes.survived = again.survived;
    }
    judge(&outcomes)
}

/// Builds and tests each of these mutants; without the tests in `SLOW` if `quickly`.
fn attempt(
    program: &Path,
    options: &Options<'_>,
    names: &[String],
    quickly: bool,
) -> Result<Outcomes> {
    let dir = root().join("target/mutants").join(options.package);
    fs::create_dir_all(&dir)?;
    let mut command = mutants(program, options);
    command.args(["--no-shuffle", "--minimum-test-timeout", "60", "--jobs", JOBS]);
    command.arg("--output").arg(&dir).env("CARGO_PROFILE_DEV_DEBUG", "0");
    // cargo-mutants takes expressions, so each name becomes one that matches only itself.
    for name in names {
        command.arg("--re").arg(format!("^{}$", escaped(name)));
    }
    command.args(["--", "--lib", "--"]);
    if quickly {
        let slow = SLOW.lines().filter(|line| !line.starts_with('#'));
        command.args(slow.flat_map(|test| ["--skip", test]));
    }
    // It fails when a mutant survives; how many may is decided in `judge`.
    let status = command.status().context("starting cargo-mutants")?;
    outcomes(&dir.join("mutants.out")).with_context(|| format!("{status}"))
}

fn parse<'a>(arguments: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u64>().ok());
        match *word {
            "--sample" => {
                let sample = number().and_then(|number| usize::try_from(number).ok());
                options.sample = Some(sample.context("`--sample` wants a number")?);
            }
            "--seed" => options.seed = number().context("`--seed` wants a number")?,
            "--file" => options.file = Some(words.next().context("`--file` wants a pattern")?),
            name if !name.starts_with('-') && options.package.is_empty() => options.package = name,
            other => bail!("`{other}` is no option of `mutants`"),
        }
    }
    ensure!(!options.package.is_empty(), "`mutants` wants the name of a crate, such as `journal`");
    Ok(options)
}

/// Installs cargo-mutants, unless this version of it is there.
fn installed() -> Result<PathBuf> {
    let tools = root().join(TOOLS);
    let program = tools.join("bin/cargo-mutants");
    let has = Command::new(&program).args(["mutants", "--version"]).output();
    if has.is_ok_and(|has| String::from_utf8_lossy(&has.stdout).trim_end().ends_with(VERSION)) {
        return Ok(program);
    }
    let mut install = Command::new("cargo");
    install.args(["install", "cargo-mutants", "--locked", "--version", VERSION, "--root"]);
    execute(install.arg(&tools))?;
    Ok(program)
}

fn mutants(program: &Path, options: &Options<'_>) -> Command {
    let mut command = Command::new(program);
    command.arg("mutants").current_dir(root()).args(["--package", options.package]);
    command.args(options.file.iter().flat_map(|file| ["--file", file]));
    command
}

/// Returns the names of all mutants but those that are equal to the code.
fn list(program: &Path, options: &Options<'_>) -> Result<Vec<String>> {
    let mut command = mutants(program, options);
    let output = command.args(["--list", "--line-col", "true"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo-mutants: {}", errors.trim_end());
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().filter(|name| !is_equal(name, EQUAL)).map(str::to_owned).collect())
}

/// Whether `equal` names a mutant: a file and a part of the name, up to the reason.
fn is_equal(name: &str, equal: &str) -> bool {
    equal.lines().filter(|line| !line.starts_with('#')).any(|line| {
        let known = line.split_once("  ").map_or(line, |(known, _)| known);
        let (file, change) = known.split_once(": ").unwrap_or((known, ""));
        !file.is_empty() && name.starts_with(file) && name.contains(change)
    })
}

/// Draws the mutants to try: those whose names have the least hashes.
fn sample(all: &[String], options: &Options<'_>) -> Vec<String> {
    let mut tried = all.to_vec();
    if let Some(sample) = options.sample {
        tried.sort_by_cached_key(|name| {
            let mut hasher = DefaultHasher::new();
            (options.seed, name).hash(&mut hasher);
            hasher.finish()
        });
        tried.truncate(sample);
    }
    tried
}

/// Returns an expression that matches just this text.
fn escaped(text: &str) -> String {
    let escape = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter).then_some('\\');
    text.chars().flat_map(|letter| escape(letter).into_iter().chain([letter])).collect()
}

/// Reads what cargo-mutants wrote: a file for each outcome, a line for each mutant.
fn outcomes(dir: &Path) -> Result<Outcomes> {
    let read = |name: &str| -> Result<Vec<String>> {
        let path = dir.join(name);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    // A mutant that never ends is noticed.
    let killed = read("caught.txt")?.len() + read("timeout.txt")?.len();
    Ok(Outcomes { killed, survived: read("missed.txt")?, unviable: read("unviable.txt")?.len() })
}

fn judge(outcomes: &Outcomes) -> Result<()> {
    let Outcomes { killed, survived, unviable } = outcomes;
    let viable = killed + survived.len();
    for name in survived {
        println!("survived: {name}");
    }
    println!("{killed} of {viable} killed, {unviable} do not compile");
    ensure!(viable > 0, "no mutant compiled");
    ensure!(killed * 100 >= viable * KILLED_MIN, "fewer than {KILLED_MIN} % were killed");
    Ok(())
}

#[cfg(test)]
mod tests;
