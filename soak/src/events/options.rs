//! What a run of the events soak is asked to do; the program fills it from its command line.

use std::path::PathBuf;

use super::sink::Engine;

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
    /// Also kills it at every call of every kind, and spoils every byte: takes an hour.
    pub thorough: bool,
}
