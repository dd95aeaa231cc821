//! Declares where the verbs that report write their reports.
//!
//! Plain data that clap parses; doc comments are what `--help` prints.

use std::path::PathBuf;

use clap::Args;

/// Where a report is written, and how wide its text is.
#[derive(Debug, Args)]
pub(crate) struct WrittenArgs {
    /// Where to write it, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Columns of the text [default: those of the terminal, or 100].
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Write the text in ASCII.
    #[arg(long)]
    pub ascii: bool,
}
