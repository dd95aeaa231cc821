//! Declares the command line of `tidegate lab strace`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints.

use clap::Args;
use stdx::Span;

use super::written::WrittenArgs;

pub(super) const EXAMPLE: &str = "\
Examples: strace -f -ttt -T -yy -s 100 -o trace.txt -p PID; tidegate lab strace trace.txt
          tidegate lab strace trace.txt.gz --format html -o calls.html
          tidegate lab strace 4711 --for 20s
FILE is what strace has written, with -f, -ttt and -T (-y, -yy, -Y and -k help), or `perf trace`; \
gzip and zstd are unpacked.
With PID strace watches that process and its children, which slows them down meanwhile.
Exit codes: 0 reported, 1 nothing can be read or traced, 2 wrong usage.";

/// What to read, or whom to trace.
#[derive(Debug, Args)]
pub(crate) struct StraceArgs {
    /// A trace, `-` for standard input, or the number of a process to trace.
    #[arg(value_name = "FILE|PID")]
    pub source: String,
    /// How long to trace a process.
    #[arg(long = "for", value_name = "TIME", default_value = "10s")]
    pub duration: Span,
    /// How to write the report.
    #[arg(long, value_parser = ["text", "ndjson", "html"], default_value = "text")]
    pub format: String,
    /// Where to, and in which width.
    #[command(flatten)]
    pub written: WrittenArgs,
}
