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
mod options;
mod oracle;
mod scratch;
mod sink;
mod world;

use std::fmt;
use std::time::Instant;

use anyhow::Result;

pub(crate) use options::Options;
pub(crate) use sink::Engine;
use sink::Server;

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
