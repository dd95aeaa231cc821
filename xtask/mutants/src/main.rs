//! Asks whether the unit tests of a crate notice changes to its code: `cargo xtask mutants`.
//!
//! cargo-mutants names the changes: one function or operator at a time. `--sample` tries so many,
//! drawn by `--seed`; the same names are drawn again from the same code. As many as will compile
//! together share one build (`weave.rs`); the others get one each. A mutant survives if all tests
//! pass. Not viable are those that do not compile; they do not count. Tests that take seconds
//! (`slow.txt`) are tried on what survives the others. Mutants that do what the code does stand in
//! `equal.txt`, each with the reason; they are not tried. `--again` tries what survived last time.
//! It fails when fewer than `KILLED_MIN` of the viable mutants are killed. What became of each
//! stays in `target/mutants/CRATE/`. CI does not run it: 200 mutants take some 15 minutes.
//! Elsewhere: names and draws (`mutant.rs`), builds (`workshop.rs`), runs (`trial.rs`).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod mutant;
mod trial;
mod weave;
mod workshop;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::mutant::Mutant;
use crate::trial::{Fate, Trials};
use crate::workshop::{Built, Workshop};

/// The share of viable mutants that tests must kill, in percent.
const KILLED_MIN: usize = 92;
/// cargo-mutants, which names the changes.
const VERSION: &str = "27.1.0";
const TOOLS: &str = "target/tools";
/// Mutants in one build: more make one that does not compile with the others more likely.
const WOVEN_MAX: usize = 400;

const USAGE: &str = "\
usage: cargo xtask mutants CRATE [--sample N] [--seed S] [--file PATTERN] [--again]

    --sample N      try N mutants instead of all
    --seed S        draw them by this number (default: 1)
    --file PATTERN  try only those of matching files, such as '**/reader.rs'
    --again         try only what survived the last time
";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    package: String,
    sample: Option<usize>,
    seed: u64,
    file: Option<String>,
    again: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match parse(&words).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutants: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: &[String]) -> Result<Options> {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u64>().ok());
        match word.as_str() {
            "--sample" => {
                let sample = number().and_then(|number| usize::try_from(number).ok());
                options.sample = Some(sample.context("`--sample` wants a number")?);
            }
            "--seed" => options.seed = number().context("`--seed` wants a number")?,
            "--file" => {
                options.file = Some(words.next().context("`--file` wants a pattern")?.clone());
            }
            "--again" => options.again = true,
            name if !name.starts_with('-') && options.package.is_empty() => {
                name.clone_into(&mut options.package);
            }
            other => bail!("`{other}` is no option of `mutants`\n{USAGE}"),
        }
    }
    ensure!(!options.package.is_empty(), "which crate, such as `journal`?\n{USAGE}");
    Ok(options)
}

/// Tries the mutants of one crate.
fn run(options: &Options) -> Result<()> {
    let root = root();
    let known = root.join("crates").join(&options.package).is_dir();
    ensure!(known, "there is no crate `{}` in crates/", options.package);
    let results = root.join("target/mutants").join(&options.package);
    fs::create_dir_all(&results)?;
    let survivors = results.join("survived.txt");
    let mut mutants = mutant::list(&installed(&root)?, &root, options)?;
    let all = mutants.len();
    if options.again {
        let text = fs::read_to_string(&survivors);
        let hint = "no last time is known; leave `--again` out";
        let text = text.with_context(|| format!("{hint}: `{}`", survivors.display()))?;
        mutants.retain(|mutant| text.lines().any(|name| mutant.is_called(name)));
    }
    if let Some(sample) = options.sample {
        mutant::draw(&mut mutants, sample, options.seed);
    }
    let Options { package, seed, .. } = options;
    ensure!(!mutants.is_empty(), "`{package}` has no such mutants");
    println!("{} of {all} mutants of `{package}`, seed {seed}", mutants.len());
    let workshop = Workshop::open(&root, package)?;
    let trials = Trials::begin(&workshop, &results)?;
    for group in mutants.chunks(WOVEN_MAX.min(weave::NUMBERS_MAX)) {
        attempt(&workshop, &trials, group)?;
    }
    judge(&trials.end()?)
}

/// Tries these mutants: together where they compile together.
fn attempt(workshop: &Workshop, trials: &Trials, mutants: &[Mutant]) -> Result<()> {
    let together = workshop.weave(mutants)?;
    println!("{} share one build", together.numbers.len());
    let reached = trials.measure(&together.binary)?;
    for &number in &together.numbers {
        match reached.contains(&number) {
            true => trials.submit(&mutants[number], &together.binary, Some(number)),
            false => trials.record(&mutants[number], &Fate::Survived { reached: false })?,
        }
    }
    for (number, mutant) in mutants.iter().enumerate() {
        if together.numbers.contains(&number) {
            continue;
        }
        match workshop.alone(mutant)? {
            Built::Binary(binary) => trials.submit(mutant, &binary, None),
            Built::Errors(_) => trials.record(mutant, &Fate::Unviable)?,
        }
    }
    Ok(())
}

/// Says which survived, and fails when too many did.
fn judge(fates: &[(String, Fate)]) -> Result<()> {
    let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|(_, fate)| wanted(fate)).count();
    let killed = count(|fate| matches!(fate, Fate::Killed { .. } | Fate::Endless));
    let unviable = count(|fate| matches!(fate, Fate::Unviable));
    let viable = fates.len() - unviable;
    for (name, fate) in fates {
        if let Fate::Survived { reached } = fate {
            println!("survived: {name}{}", if *reached { "" } else { " (no test comes there)" });
        }
    }
    println!("{killed} of {viable} killed, {unviable} do not compile");
    ensure!(viable > 0, "no mutant compiled");
    ensure!(killed * 100 >= viable * KILLED_MIN, "fewer than {KILLED_MIN} % were killed");
    Ok(())
}

/// Returns the root of the checkout that this program was built in.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Installs cargo-mutants, unless this version of it is there.
fn installed(root: &Path) -> Result<PathBuf> {
    let tools = root.join(TOOLS);
    let program = tools.join("bin/cargo-mutants");
    let has = Command::new(&program).args(["mutants", "--version"]).output();
    if has.is_ok_and(|has| String::from_utf8_lossy(&has.stdout).trim_end().ends_with(VERSION)) {
        return Ok(program);
    }
    let mut install = Command::new("cargo");
    install.args(["install", "cargo-mutants", "--locked", "--version", VERSION, "--root"]);
    let status = install.arg(&tools).status().context("starting `cargo`")?;
    ensure!(status.success(), "`cargo install cargo-mutants`: {status}");
    Ok(program)
}

#[cfg(test)]
mod tests;
