//! What a run of the events soak is asked to do; the program fills it from its command line.

use std::path::PathBuf;

use clap::ValueEnum;

use super::sink::Engine;

/// What the soak has trials of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Kills at random moments.
    Kills,
    /// Kills before system calls, and calls that fail.
    Calls,
    /// Spoilt files beside the log.
    Scratch,
    /// Logs that are the same, and damaged packs.
    Alike,
    /// Damaged journals.
    Damages,
    /// Steps of the clock.
    Clocks,
}

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program to test.
    pub binary: PathBuf,
    /// How often it is killed at random moments.
    pub kills: u64,
    /// How many journals are damaged.
    pub damages: u64,
    /// Worlds whose clock is set back and forward.
    pub clocks: u64,
    /// Only these parts; all, when there are none.
    pub only: Vec<Part>,
    /// Of all chance.
    pub seed: u64,
    /// Where it delivers.
    pub engine: Engine,
    /// Logs that are written, delivered and checked beside each other, on one server.
    pub lanes: usize,
    /// Also kills it at every call of every kind, and spoils every byte: takes an hour.
    pub thorough: bool,
}

impl Options {
    /// Whether a part is asked for.
    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}
