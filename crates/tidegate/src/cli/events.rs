//! Declares the command line of `tidegate events`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. `DEFAULT_FEEDBACK` is the
//! default of `[profiles] event` as well (`profiles::config`). The help of `export` repeats the
//! columns of examples (`sinks::EXAMPLE_COLUMNS`).

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stdx::Span;

use super::config_file::ConfigArgs;

pub(super) const EXAMPLE: &str = "\
Begin with `tidegate events inspect -c tidegate.toml access.log`, which delivers nothing; then \
`tidegate events run`, `status`, `query ROLLUP`, `verify` and `replay`.
docs/operating/log-formats.md has a configuration for each web server.";

const REPLAY_EXAMPLE: &str = "\
Examples: tidegate events replay --to sqlite:again.db --since 2026-11-20 --until 2026-11-21
          tidegate events replay --to main --prefix mended_ --rollup requests
          tidegate events replay --only access.log.1:0-1048576 --dry-run
The same command again goes on where it stopped, and adds what came since.";

const DEFAULT_FEEDBACK: &str = "path == \"/1/feedback/read\" and status < 400";

const EXPORT_EXAMPLE: &str = "\
Example: tidegate events export --training --within 30m -o training.parquet
Columns: request_id (the exchange), ranked_by (the ranking, which a cached answer shares), \
time, user, route, decision, cache, model, version, propensity, position (from 1), item, label \
(1 with feedback), feedback (how often), feedback_time (the first), censored (the log ends before \
`--within` does, so feedback may be missing). Feedback belongs to the last impression of that \
ranking that showed the item to the same user. Rows come in no order.";

const QUERY_EXAMPLE: &str = "\
Examples: tidegate events query requests --by hour,status --since 6h
          tidegate events query requests --by path --order p99_total:desc --limit 10
          tidegate events query requests --by '' --where \"path LIKE '/1/%'\"
          tidegate events query --sql 'SELECT SUM(count) FROM requests' --format json";

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Read the sources of the configuration and deliver their rollups, until interrupted. `serve`
    /// does this by itself; here it runs alone, beside another web server.
    Run {
        /// Which configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// End when everything that is there has been delivered.
        #[arg(long)]
        once: bool,
        /// With `--once`: end with exit code 1 when a sink did not take a batch for so long
        /// [default: 1m]. A source that cannot be read for so long counts likewise.
        #[arg(long, value_name = "TIME", requires = "once")]
        give_up_after: Option<Span>,
        /// End with stdin, and write the status to stdout once a second: how `serve` starts it.
        #[arg(long, hide = true)]
        supervised: bool,
    },
    /// Show what each line of a file becomes: its fields and the rows it counts in, or why it is
    /// refused. Prints one JSON object a line.
    Inspect(InspectArgs),
    /// Show how far each source is delivered into each sink, by asking the running process.
    Status {
        /// Which configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the document as it came.
        #[arg(long)]
        json: bool,
    },
    /// List what was lost of the logs before it could be delivered. Each loss is an alarm on
    /// `/status` until it is acknowledged.
    Losses {
        /// Which configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Acknowledge the loss with this id, or `all`.
        #[arg(long, value_name = "ID")]
        ack: Vec<String>,
    },
    /// Deliver a part of a source again, into another sink or into tables of other names. Its
    /// checkpoint is separate: lines count once, and an interrupted replay goes on where it
    /// stopped.
    #[command(after_help = REPLAY_EXAMPLE)]
    Replay(ReplayArgs),
    /// Write training data: a row for each item that a ranked answer showed, with what was done
    /// with it.
    #[command(after_help = EXPORT_EXAMPLE)]
    Export(ExportArgs),
    /// Show what a rollup says, its sketches merged over machines and keys; reads SQLite,
    /// PostgreSQL and MariaDB.
    #[command(after_help = QUERY_EXAMPLE)]
    Query(QueryArgs),
    /// Count the delivered part of the log once more, by other code than the delivery's, and
    /// compare. Reads SQLite, PostgreSQL and MariaDB, also while they are being filled. Exit code 1
    /// names the first difference of each rollup.
    Verify(ConfigArgs),
}

/// What to deliver again, and where to.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The source; may be left out when there is one.
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Where it goes: the name of a [[sink]], or an address such as sqlite:again.db.
    #[arg(long, value_name = "SINK", required_unless_present = "dry_run")]
    pub to: Option<String>,
    /// What the names of the tables begin with; needed in a sink that has the source's lines.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub prefix: String,
    /// Only these rollups; all that count the source by default.
    #[arg(long, value_name = "NAME")]
    pub rollup: Vec<String>,
    /// Only lines of this time or later, such as 2026-11-21T09:48 (UTC).
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only lines before this time.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only lines that begin in these bytes: FILE, FILE:FROM-TO, or FROM-TO of the journal. Either
    /// end may be left out. FILE is a path or the end of one. Of a packed file, bytes are counted
    /// in what it unpacks to.
    #[arg(long, value_name = "PLACE")]
    pub only: Vec<String>,
    /// Tells replays apart that go into the same tables.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
    /// Count what would be delivered, and deliver nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// End with exit code 1 when the sink did not take a batch for so long.
    #[arg(long, value_name = "TIME", default_value = "1m")]
    pub give_up_after: Span,
}

/// Which examples to write, and where to.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Impressions, joined with feedback by the ranking's id and the user.
    #[arg(long, required = true)]
    pub training: bool,
    /// The file, which is there when it is whole; stdout without it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What it is written as; by the file's name without it, else CSV.
    #[arg(long, value_enum)]
    pub format: Option<ExampleFormat>,
    /// How long after an impression feedback may come.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub within: Span,
    /// A filter that says which exchanges are feedback.
    #[arg(long, value_name = "FILTER", default_value = DEFAULT_FEEDBACK)]
    pub feedback: String,
    /// The field of feedback that has the id of the ranking.
    #[arg(long, value_name = "FIELD", default_value = "query.request")]
    pub request: String,
    /// The field of feedback that has the item.
    #[arg(long, value_name = "FIELD", default_value = "query.item")]
    pub item: String,
    /// Only impressions of this time or later, such as 2026-11-21T09:48 (UTC).
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only impressions before this time.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// The source, when it is not the journal.
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
}

/// What examples are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExampleFormat {
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet.
    Parquet,
}

/// What to read of which rollup.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Name of the rollup.
    #[arg(required_unless_present = "sql", conflicts_with = "sql")]
    pub rollup: Option<String>,
    /// An SQL condition on columns of the key, such as "path LIKE '/1/%'".
    #[arg(long = "where", value_name = "SQL", conflicts_with = "sql")]
    pub filter: Option<String>,
    /// Columns of the key to group by, such as path,hour; the whole key by default. A minute may
    /// become an hour or a day, and `--by ''` is one row.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "sql")]
    pub by: Option<String>,
    /// The earliest time, such as 2026-11-21T09:48, or 6h for that long ago.
    #[arg(long, value_name = "TIME", conflicts_with = "sql")]
    pub since: Option<String>,
    /// The time after the latest.
    #[arg(long, value_name = "TIME", conflicts_with = "sql")]
    pub until: Option<String>,
    /// Quantiles to show of `quantiles`, such as 0.5,0.95,0.999; 0.5,0.9,0.99 by default.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "sql",
        value_parser = quantile)]
    pub quantiles: Vec<f64>,
    /// Sort by this column of the answer instead of the key, such as count, or count:desc for the
    /// largest first. Several stand between commas.
    #[arg(long, value_name = "COLUMN[:desc]", value_delimiter = ',', conflicts_with = "sql",
        value_parser = order)]
    pub order: Vec<(String, bool)>,
    /// Show at most so many rows.
    #[arg(long, value_name = "N", conflicts_with = "sql")]
    pub limit: Option<u64>,
    /// Show only these columns of the answer, in this order, such as minute,count.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "sql")]
    pub columns: Option<String>,
    /// Any query instead, in the SQL of the sink's engine. In SQLite tidegate_unique(BLOB) and
    /// tidegate_quantile(BLOB, Q) merge the sketches of a group.
    #[arg(long, value_name = "SQL")]
    pub sql: Option<String>,
    /// The sink that `--sql` asks, when there are several.
    #[arg(long, value_name = "NAME", requires = "sql")]
    pub sink: Option<String>,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = AnswerFormat::Table)]
    pub format: AnswerFormat,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnswerFormat {
    /// Columns for people, with units. It fits the terminal, and is whole where there is none.
    Table,
    /// An array of objects.
    Json,
    /// Comma-separated values with a header.
    Csv,
}

/// Which lines to show.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The source whose format they have; may be left out when there is one.
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Propose the format from the first lines, as a `[[source]]` section; needs no configuration.
    #[arg(long, conflicts_with = "source")]
    pub guess: bool,
    /// The file; stdin without it, or with `-`.
    pub file: Option<PathBuf>,
}

fn quantile(text: &str) -> Result<f64, String> {
    let q = text.trim().parse().ok().filter(|q| (0.0..=1.0).contains(q));
    q.ok_or_else(|| "a quantile is a number from 0 to 1, such as 0.95".to_owned())
}

/// A column to sort by, and whether the largest comes first.
fn order(text: &str) -> Result<(String, bool), String> {
    let (name, direction) = text.trim().rsplit_once(':').unwrap_or((text.trim(), "asc"));
    match direction {
        "asc" => Ok((name.to_owned(), false)),
        "desc" => Ok((name.to_owned(), true)),
        _ => Err("write a column, with `:desc` for the largest first".to_owned()),
    }
}
