//! Declares the command line of `tidegate lab report`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. Filters and times are read
//! by the command, in `lab/report.rs`; where a source lies, in `lab/report/source.rs`.
//! The examples list the formats that `lab::import` reads: a new one also goes there, and into
//! docs/lab/report-inputs.md. The default width is that of `output.rs`.

use std::path::PathBuf;

use clap::Args;
use stdx::Span;

use super::fail_if::FailIfArgs;
use super::written::WrittenArgs;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab report --from latencies.csv
          tidegate lab report --from access.log --format html -o a.html
          tidegate lab report --from journal --since 6h --where 'status == 200'
          tidegate lab report --from before.json --vs after.json
          tidegate lab report --from watch.db --since 12h --strace trace.txt
          my-benchmark | tidegate lab report --from - --format json
FILE is what `--save` wrote, a CSV (header `latency_ms`, or one column `NAME_ms` for each step), \
an access log with timings (combined, LTSV or JSON), our journal's directory or one of its files, \
spans in OTLP's JSON, the file of `lab watch`, or results of vegeta, k6, oha, hey, wrk2, \
HdrHistogram and hyperfine; each may be compressed by gzip or zstd. docs/lab/report-inputs.md \
has the columns.
Exit codes: 0 reported, 1 nothing can be read, 2 wrong usage; of --fail-if 3 exceeded, 4 cannot be \
told.";

/// What to report on, and how.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// What is read, and which calls of it.
    #[command(flatten)]
    pub source: SourceArgs,
    /// What to compare with.
    #[arg(long, value_name = "FILE|URL")]
    pub vs: Option<String>,
    /// Compare call by call: row i of one was measured beside row i of the other.
    #[arg(long, requires = "vs")]
    pub paired: bool,

    /// A trace of system calls of the same server, as `lab strace` reads it.
    #[arg(long, value_name = "FILE", conflicts_with = "vs")]
    pub strace: Option<PathBuf>,

    /// How to write the report.
    #[arg(long, value_parser = ["text", "json", "html"], default_value = "text")]
    pub format: String,
    /// Where to, and in which width.
    #[command(flatten)]
    pub written: WrittenArgs,
    /// What is a failure.
    #[command(flatten)]
    pub bounds: FailIfArgs,
}

/// What is read, and which calls of it.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// What was measured: a file, `-` for standard input, a journal's directory, or an http(s)
    /// address of a file; `journal` is that of the configuration. Several are read as one.
    #[arg(long, required = true, num_args = 1.., value_name = "FILE|journal|URL")]
    pub from: Vec<String>,
    /// Which target of a watch, where it has several.
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Only exchanges that this filter lets through, such as 'status == 200 and total > 50ms'.
    #[arg(long = "where", value_name = "FILTER")]
    pub filter: Option<String>,
    /// Only calls of this time or later, such as 2026-11-21T09:48 (UTC), or 6h for that long ago.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only calls before this time.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Calls over this are slow [default: the slowest twentieth].
    #[arg(long, value_name = "TIME")]
    pub slow: Option<Span>,
    /// Refuse a file with a bad row, instead of counting it.
    #[arg(long)]
    pub strict: bool,
    /// For what is drawn at random: the same seed, the same report.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub seed: u64,
    /// The configuration that names the journal.
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub config: PathBuf,
}
