//! Runs Tidegate and real peers side by side on this machine: `cargo run --release -p bench`.
//!
//! Every figure is the median of alternating rounds, and every target is a ratio or a difference
//! between servers that ran in the same rounds. A server has core 0 to itself with all its threads;
//! the load generator and the origin share core 1. Refuses: figures without a peer's version, and
//! rounds in which a reply was wrong.

mod against;
mod contest;
mod evaluate;
mod lines;
mod machine;
mod measure;
mod origin;
mod peers;
mod process;
mod publish;
mod ranking;
mod receive;
mod results;
mod rows;
mod setup;
mod traces;
mod wrk;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::rows::{ROWS, Row};
use crate::setup::Setup;

/// Runs Tidegate and its peers side by side.
#[derive(Debug, Parser)]
#[command(about)]
struct Arguments {
    /// Rows to run; all of them by default.
    rows: Vec<String>,
    /// Three short rounds instead of five long ones.
    #[arg(long)]
    quick: bool,
    /// Keep the results in bench/results and write docs/BENCHMARKS.md anew.
    #[arg(long)]
    write: bool,
    /// Run the rows with another release binary too, by turns, and print both with their ratio.
    #[arg(long, value_name = "BINARY", conflicts_with = "write")]
    against: Option<std::path::PathBuf>,
    /// Count the lines of a log by path and minute, as the bare scanner of row `events`.
    #[arg(long, hide = true)]
    scan: Option<std::path::PathBuf>,
    /// Receive datagrams at an address and look at none, as the ceiling of the statsd rows.
    #[arg(long, hide = true)]
    receive: Option<std::net::SocketAddr>,
    /// With `--receive`: takes datagrams of one sender together.
    #[arg(long, hide = true)]
    trains: bool,
    /// Take part in the contests of the rows about models.
    #[arg(long, hide = true, num_args = 1..)]
    evaluate: Vec<String>,
    /// List the rows.
    #[arg(long)]
    list: bool,
}

#[expect(clippy::print_stderr, reason = "a program for the terminal")]
fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the table of results is this program's output")]
fn run(arguments: &Arguments) -> Result<()> {
    if let Some(log) = &arguments.scan {
        println!("{}", lines::scan(log)?);
        return Ok(());
    }
    if let Some(address) = arguments.receive {
        return receive::run(address, arguments.trains);
    }
    if !arguments.evaluate.is_empty() {
        return evaluate::run(&arguments.evaluate);
    }
    if arguments.list {
        for row in ROWS {
            println!("{:14} {}", row.name, row.what);
        }
        return Ok(());
    }
    for name in &arguments.rows {
        ensure!(ROWS.iter().any(|row| row.name == name), "row `{name}`: there is none; see --list");
    }
    machine::prepare()?;
    let mut setup = Setup::new(arguments.quick)?;
    let chosen = ROWS
        .iter()
        .filter(|row| arguments.rows.is_empty() || arguments.rows.iter().any(|n| n == row.name));
    let mut left_out = Vec::new();
    for row in chosen {
        println!("{}: {}", row.name, row.what);
        let missing = peers::missing(&setup, row.peers);
        if missing.is_empty() {
            match &arguments.against {
                Some(binary) => against::compare(row, &mut setup, binary)?,
                None => measure_row(row, &setup, arguments.write)?,
            }
        } else {
            println!("    left out, because of what is missing: {}", missing.join(", "));
            left_out.push(row.name);
        }
    }
    if arguments.write {
        publish::write(&setup)?;
    }
    if !left_out.is_empty() {
        println!(
            "left out: {}; hint: `cargo xtask bench` sets up what it can",
            left_out.join(", ")
        );
    }
    // Who names a row wants it.
    ensure!(left_out.is_empty() || arguments.rows.is_empty(), "rows were left out");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table of results is this program's output")]
fn measure_row(row: &Row, setup: &Setup, write: bool) -> Result<()> {
    let noise = machine::Noise::start()?;
    let measurements = (row.run)(setup)?;
    let result = results::RowResult::new(row, setup, noise.share(0.0)?, measurements);
    print!("{}", publish::plain(&result));
    if write {
        results::store(setup, &result)?;
    }
    Ok(())
}
