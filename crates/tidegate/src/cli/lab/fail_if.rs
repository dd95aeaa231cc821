//! Declares `--fail-if`, by which a measurement ends with an exit code of its own.
//!
//! Bounds are read by `lab::bounds` while clap parses. Exit codes are in `lab/fail_if.rs`; the help
//! repeats them.

use clap::Args;
use lab::bounds::{BoundError, FailBound};

/// Which measurements are failures.
#[derive(Debug, Default, Args)]
pub(crate) struct FailIfArgs {
    /// End with exit code 3 if this is so: 'p99 > 50ms', 'mean > 10ms', 'stddev > 20ms',
    /// 'max > 1s', 'errors > 1%', or of a comparison 'slower > 5%'. With 4 if the calls are too few
    /// to tell. May be repeated.
    #[arg(long, value_name = "BOUND", value_parser = bound)]
    pub fail_if: Vec<FailBound>,
}

pub(super) fn bound(text: &str) -> Result<FailBound, BoundError> {
    text.parse()
}
