//! Dispatches `cargo xtask COMMAND`: every line of CI is a command that anyone can run.
//!
//! A command is a line of `USAGE`, an arm of `dispatch`, and a module. An unknown one prints the
//! usage and exits with 2, a failure with 1. Called by cargo in place of `rustc`, the program
//! compiles instead (`compile.rs`).
//! Refuses: to know of the product more than its names, its tests, and what each command starts.
//! House rules are in the package `tidy`, measuring in `bench`, random faults in `soak`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod bench;
mod budget;
mod cache_tests;
mod check;
mod checkout;
mod ci;
mod compile;
mod cpu;
mod docs;
mod engines;
mod fuzz;
mod generated;
mod package;
mod packages;
mod setup;
mod soak;
mod suite;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask COMMAND

    check                 format, house rules, and lints and unit tests of what has changed
    ci [--budget]         every check and every test, as `make test` runs them;
                          --budget fails if a package costs more than xtask/budget.txt says
    tidy [--ratchet | --measure [NAME]...]
                          hold the house rules; --ratchet lowers the limits to what is measured,
                          --measure prints what the crates and documents measure
    gen                   draw the picture of the crates in docs/ARCHITECTURE.md; write the page of
                          alarms, the rules for Prometheus and the dashboard for Grafana
    docs [--to DIR] [--binary PATH]
                          make the site of the documentation, by default in target/docs, with a
                          page for each command of PATH or of the debug build; check its links
    setup --test|--bench
                          install or name what the machine lacks
    bench [ARGUMENTS]     set up the peers, and run Tidegate and them side by side
    fuzz [TARGET] [--minutes N] [--keep]
                          run one fuzz target or all in turn, guided by coverage
    mutants CRATE [--sample N] [--seed S] [--file PATTERN] [--again]
                          change the code of a crate here and there: its tests must notice
    soak gateway [--minutes N] [--seed S] [--release]
                          random faults on both sides of the real binary
    soak gateway --attacks [--minutes N] [--seed S] [--only NAME,...] [--descriptors N]
                          [--release] attacks by single clients beside honest ones
    soak events [--kills N] [--damages N] [--clocks N] [--only PART,...] [--seed S]
                [--sink E] [--thorough] [--release]
                          kills, failing calls and spoilt files around `events run`, damaged
                          journals, and clocks that are set back and forward
    soak statsd [--minutes N] [--seed S] [--release]
                          ends and kills of statsd, and a Graphite that comes, goes and hangs
    soak workers [--minutes N] [--seed S] [--release]
                          killed, stopped, hung and leaking Python workers, changing code
    soak models [--minutes N] [--seed S] [--clients N] [--release]
                          models whose files change and break while light and heavy ones are asked
    package deb|wheel [--binary PATH] [--to DIR] [--quick]
                          make the Debian package or the wheel, of the release build or of PATH;
                          --quick compresses little
    package image [--binary PATH] [--to DIR] [--quick]
                          make the images `tidegate` and `tidegate-python`, without Docker
    package try [OPTIONS] make it with these options, and install, use, upgrade and purge it on a
                          clean Debian under systemd, as root
    package notices [--to DIR]
                          write the licences of all that is linked; the packages have them, too
    package sbom [--to DIR]
                          write what the release build consists of, as CycloneDX
    package sums [--to DIR]
                          write SHA256SUMS of all packages that are made
    package reproduce [--package NAME] [--profile NAME]
                          build twice in two directories, by default tidegate for release, and
                          compare the programs
    test-engines          set up Kafka, ClickHouse and FerretDB, and run the long tests on them
    cache-tests --suite DIR [--only ID]
                          run any checkout of the HTTP cache tests, or one test of it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(code) = compile::as_compiler(&words) {
        return code;
    }
    match dispatch(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            match words[..] {
                [] => {}
                _ => eprintln!("error: `{}` is not how a command is called\n", words.join(" ")),
            }
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether there is such a command.
fn dispatch(words: &[&str]) -> Result<bool> {
    match words {
        ["--help" | "-h"]
        | [
            "docs" | "fuzz" | "cache-tests" | "package" | "setup" | "tidy" | "ci",
            "--help" | "-h",
        ] => {
            print!("{USAGE}");
        }
        ["tidy", arguments @ ..] => tidy::run(arguments)?,
        ["gen"] => generated::run()?,
        ["check"] => check::run()?,
        ["ci"] => ci::run(false)?,
        ["ci", "--budget"] => ci::run(true)?,
        ["setup", "--test"] => setup::run(setup::Stage::Test)?,
        ["setup", "--bench"] => setup::run(setup::Stage::Bench)?,
        ["bench", arguments @ ..] => bench::run(arguments)?,
        ["docs", arguments @ ..] => docs::run(arguments)?,
        ["fuzz", arguments @ ..] => fuzz::run(arguments)?,
        ["mutants", arguments @ ..] => tidy::hand_over("mutants", arguments)?,
        ["package", "deb", arguments @ ..] => package::deb(arguments)?,
        ["package", "wheel", arguments @ ..] => package::by_script("wheel.py", arguments)?,
        ["package", "image", arguments @ ..] => package::by_script("images.py", arguments)?,
        ["package", "notices", arguments @ ..] => package::notices(arguments)?,
        ["package", "sbom", arguments @ ..] => package::sbom::run(arguments)?,
        ["package", "sums", arguments @ ..] => package::sums::run(arguments)?,
        ["package", "reproduce", arguments @ ..] => package::reproduce::run(arguments)?,
        ["package", "try", arguments @ ..] => package::try_out(arguments)?,
        ["test-engines"] => engines::run()?,
        ["soak", "lab"] | ["soak", "lab", "--release"] => soak::whole_lab()?,
        ["soak", arguments @ ..] => soak::run(arguments)?,
        ["cache-tests", "--suite", suite] => cache_tests::run(suite, &["--report"])?,
        ["cache-tests", "--suite", suite, "--only", id] => {
            cache_tests::run(suite, &["--only", id])?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
