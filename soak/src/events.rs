//! The record process under soak: exactly once, whatever happens to it.
//!
//! A writer appends lines with unique ids, and `tidegate events run` delivers them. It meets:
//! - SIGKILL at random moments, and before every system call that changes a disk;
//! - system calls that fail;
//! - spoilt files of its own beside the log;
//! - a second process on the same log;
//! - logs that are the same on one node and on two, and damaged packs of them;
//! - journals of `tidegate serve` that are overwritten, cut, removed or replaced by an older copy;
//! - a clock that is set back and forward.
//!
//! Invariant held against it: at every moment the sink holds no id twice, and none that was never
//! written. The process that starts last delivers all ids, with every sum as it must be.

mod alike;
mod calls;
mod clocks;
mod damages;
mod kills;
mod ledger;
mod lines;
mod options;
mod oracle;
mod scratch;
mod served;
mod sink;
mod world;

use std::fmt;
use std::time::Instant;

use anyhow::Result;

pub(crate) use options::{Options, Part};
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
    if options.wants(Part::Kills) {
        done(&kills::run(options, &server)?);
    }
    if options.wants(Part::Calls) {
        done(&calls::run(options, &server)?);
    }
    if options.engine != Engine::Sqlite {
        return Ok(());
    }
    if options.wants(Part::Scratch) {
        done(&scratch::run(options, &server)?);
    }
    if options.wants(Part::Alike) {
        done(&alike::run(options)?);
    }
    if options.wants(Part::Damages) {
        done(&damages::run(options)?);
    }
    if options.wants(Part::Clocks) {
        done(&clocks::run(options)?);
    }
    Ok(())
}
