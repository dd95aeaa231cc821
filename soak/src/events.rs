//! The record process under soak: exactly once, whatever happens to it.
//!
//! A writer appends lines with unique ids, `tidegate events run` delivers them, and is killed
//! again and again: at random moments, before every system call that changes a disk, with system
//! calls that fail, with what it keeps beside the log spoilt, and with a second one beside it.
//!
//! Invariant held against it: ids are delivered in the order in which they were written, so that
//! at every moment the sink holds each of the first N ids exactly once and nothing else; and
//! whoever is started last delivers them all.

mod calls;
mod kills;
mod lines;
mod oracle;
mod scratch;
mod sink;
mod world;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

pub use sink::Engine;

/// What to do.
#[derive(Debug)]
pub struct Options {
    /// The program to test.
    pub binary: PathBuf,
    /// How often it is killed at random moments.
    pub kills: u64,
    /// Of all chance.
    pub seed: u64,
    /// Where it delivers.
    pub engine: Engine,
    /// Also kill it at every call of every kind, and spoil every byte: takes an hour.
    pub thorough: bool,
}

/// Runs everything; prints what was done.
///
/// # Errors
/// The first thing found wrong, with the seed that found it.
pub fn run(options: &Options) -> Result<()> {
    println!("soak events: seed {}", options.seed);
    let begun = Instant::now();
    let tally = kills::run(options)?;
    println!("{tally} ({:.0} s)", begun.elapsed().as_secs_f64());
    if options.engine != Engine::Sqlite {
        return Ok(());
    }
    let begun = Instant::now();
    let tally = scratch::run(options)?;
    println!("{tally} ({:.0} s)", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let tally = calls::run(options)?;
    println!("{tally} ({:.0} s)", begun.elapsed().as_secs_f64());
    Ok(())
}
