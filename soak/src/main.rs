//! Soak: random faults from a printed seed against the real binary; `cargo xtask soak` builds both.
//!
//! Exit codes: 0 passed, 1 something was wrong, 2 usage.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod client;
mod dice;
mod events;
mod fact;
mod fault;
mod gateway;
mod history;
mod judge;
mod lab;
mod models;
mod origin;
mod process;
mod request_spec;
mod setup;
mod siege;
mod statsd;
mod tally;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "Random faults against the real binary")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The gateway: cache, flights, upstreams.
    Gateway {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// Minutes with faults.
        #[arg(long, default_value_t = 1.0)]
        minutes: f64,
        /// Of all chance; default: the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// Threads that ask.
        #[arg(long, default_value_t = 24)]
        clients: u64,
        /// Share of the origin's answers with a fault, percent.
        #[arg(long, default_value_t = 12)]
        faults: u64,
        /// Attacks by single clients beside honest ones, in place of random faults.
        #[arg(long)]
        attacks: bool,
        /// Only attacks of these names.
        #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "attacks")]
        only: Vec<String>,
        /// File descriptors that the gateway may have (`RLIMIT_NOFILE`); default: as this program.
        #[arg(long, value_name = "COUNT", requires = "attacks")]
        descriptors: Option<u64>,
    },
    /// The record process: exactly once, from a log file into a database.
    Events {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// How often it is killed at random moments.
        #[arg(long, default_value_t = 1000)]
        kills: u64,
        /// How many journals are damaged.
        #[arg(long, default_value_t = 40)]
        damages: u64,
        /// Worlds whose clock is set back and forward.
        #[arg(long, default_value_t = 10)]
        clocks: u64,
        /// Only these parts.
        #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
        only: Vec<events::Part>,
        /// Of all chance; default: the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// Where it delivers.
        #[arg(long, value_enum, default_value = "sqlite")]
        sink: events::Engine,
        /// Logs at a time, each with a database of its own on one server.
        #[arg(long, default_value_t = 1)]
        lanes: usize,
        /// Kill at every call of every kind, and spoil every byte: takes an hour.
        #[arg(long)]
        thorough: bool,
    },
    /// The laboratory: servers whose latency has a known cause.
    Lab {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// Only what takes seconds.
        #[arg(long)]
        short: bool,
        /// Only arms whose names contain this.
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Of all chance.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Keep what was measured, a file for each arm, for `tidegate lab report`.
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
    },
    /// Models that are replaced, spoilt and mended while light and heavy ones are asked.
    Models {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// Minutes of requests.
        #[arg(long, default_value_t = 1.0)]
        minutes: f64,
        /// Of all chance; default: the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// Threads that ask.
        #[arg(long, default_value_t = 8)]
        clients: u64,
    },
    /// statsd: counts over ends, kills and a Graphite that comes, goes and hangs.
    Statsd {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// Minutes with faults.
        #[arg(long, default_value_t = 1.0)]
        minutes: f64,
        /// Of all chance; default: the clock.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Pools of Python workers.
    Workers {
        /// The program to test.
        #[arg(long, default_value = "target/debug/tidegate")]
        binary: PathBuf,
        /// Minutes with faults.
        #[arg(long, default_value_t = 1.0)]
        minutes: f64,
        /// Of all chance; default: the clock.
        #[arg(long)]
        seed: Option<u64>,
        /// Threads that ask.
        #[arg(long, default_value_t = 8)]
        clients: u64,
    },
}

fn main() -> ExitCode {
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_secs());
    let span = |minutes: f64| Duration::from_secs_f64((minutes * 60.0).clamp(1.0, 7.0 * 86_400.0));
    let done = match Cli::parse().command {
        Command::Gateway { binary, minutes, seed, attacks: true, only, descriptors, .. } => {
            let (time, seed) = (span(minutes), seed.unwrap_or_else(clock));
            siege::run(&siege::Options { binary, time, seed, only, descriptors })
        }
        Command::Gateway { binary, minutes, seed, clients, faults, .. } => {
            let time = span(minutes);
            let seed = seed.unwrap_or_else(clock);
            gateway::run(&gateway::Options { binary, time, seed, clients, faults_percent: faults })
        }
        Command::Events {
            binary,
            kills,
            damages,
            clocks,
            only,
            seed,
            sink: engine,
            lanes,
            thorough,
        } => events::run(&events::Options {
            binary,
            kills,
            damages,
            clocks,
            only,
            seed: seed.unwrap_or_else(clock),
            engine,
            lanes,
            thorough,
        }),
        Command::Lab { binary, short, only, seed, keep } => {
            lab::run(&lab::Options { binary, short, only, seed, keep })
        }
        Command::Models { binary, minutes, seed, clients } => {
            let (time, seed) = (span(minutes), seed.unwrap_or_else(clock));
            models::run(&models::Options { binary, time, seed, clients })
        }
        Command::Statsd { binary, minutes, seed } => {
            let (time, seed) = (span(minutes), seed.unwrap_or_else(clock));
            statsd::run(&statsd::Options { binary, time, seed })
        }
        Command::Workers { binary, minutes, seed, clients } => {
            let (time, seed) = (span(minutes), seed.unwrap_or_else(clock));
            workers::run(&workers::Options { binary, time, seed, clients })
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
