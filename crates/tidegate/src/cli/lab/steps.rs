//! Declares the command line of `tidegate lab steps`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. Which columns there are is
//! known once the file is read, so their names are looked up in `lab::Scatter`.

use clap::Args;

use super::report::SourceArgs;
use super::written::WrittenArgs;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab steps --from spans.json
          tidegate lab steps --from access.log --where 'status == 200'
          tidegate lab steps --from calls.csv --scatter age,query
          tidegate lab steps --from calls.csv --scatter total,query --by worker
It reads what `lab report` reads. Steps are the columns `NAME_ms` of a CSV, the upstream's times \
of an access log, the metrics of Server-Timing, and of spans what each adds to the critical path.
Exit codes: 0 reported, 1 nothing can be read, 2 wrong usage.";

/// Whose steps to report on, and how.
#[derive(Debug, Args)]
pub(crate) struct StepsArgs {
    /// What is read, and which calls of it.
    #[command(flatten)]
    pub source: SourceArgs,
    /// Draw the second column against the first: `total`, a step, or an attribute of numbers.
    #[arg(long, value_name = "X,Y", num_args = 1, value_parser = axes)]
    pub scatter: Option<[String; 2]>,
    /// One point for each value of this attribute, such as a worker: the medians of its calls.
    #[arg(long, value_name = "ATTRIBUTE", requires = "scatter")]
    pub by: Option<String>,
    /// How to write the report.
    #[arg(long, value_parser = ["text", "json", "html"], default_value = "text")]
    pub format: String,
    /// Where to, and in which width.
    #[command(flatten)]
    pub written: WrittenArgs,
}

fn axes(text: &str) -> Result<[String; 2], String> {
    match text.split_once(',') {
        Some((x, y)) if !x.is_empty() && !y.is_empty() => Ok([x.to_owned(), y.to_owned()]),
        _ => Err("two columns are drawn; write X,Y, such as total,query".to_owned()),
    }
}
