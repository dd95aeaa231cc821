//! The record process under soak: exactly once, whatever happens to it.
//!
//! A writer appends lines with unique ids, `tidegate events run` delivers them, and is killed
//! again and again: at random moments, before every system call that changes a disk, with system
//! calls that fail, with what it keeps beside the log spoilt, and with a second one beside it.
//!
//! Invariant held against it: at every moment the sink holds no id twice and none that was never
//! written; whoever is started last delivers them all, with every sum as it must be.

mod calls;
mod kills;
mod lines;
mod oracle;
mod scratch;
mod sink;
mod world;

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

pub(crate) use sink::Engine;
use sink::Server;

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program to test.
    pub binary: PathBuf,
    /// How often it is killed at random moments.
    pub kills: u64,
    /// Of all chance.
    pub seed: u64,
    /// Where it delivers.
    pub engine: Engine,
    /// Logs that are written, delivered and checked beside each other, on one server.
    pub lanes: usize,
    /// Also kill it at every call of every kind, and spoil every byte: takes an hour.
    pub thorough: bool,
}

/// Runs everything; prints what was done.
///
/// # Errors
/// The first thing found wrong, with the seed that found it.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("soak events: seed {}", options.seed);
    let server = Server::start(options.engine);
    let mut begun = Instant::now();
    let mut done = |tally: &dyn fmt::Display| {
        println!("{tally} ({:.0} s)", begun.elapsed().as_secs_f64());
        begun = Instant::now();
    };
    done(&kills::run(options, &server)?);
    done(&calls::run(options, &server)?);
    if options.engine == Engine::Sqlite {
        done(&scratch::run(options, &server)?);
    }
    Ok(())
}
