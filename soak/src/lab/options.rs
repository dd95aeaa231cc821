//! What a run of the laboratory soak is asked to do; the program fills it from its command line.

use std::path::PathBuf;

/// What to run.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program to test.
    pub binary: PathBuf,
    /// As much as every check has time for.
    pub short: bool,
    /// Only arms whose names contain this.
    pub only: Option<String>,
    /// Of all chance.
    pub seed: u64,
    /// Where to keep what was measured.
    pub keep: Option<PathBuf>,
}
