//! Declares the command line: each command, argument and help text, as types that clap parses.
//!
//! Most commands are a noun, then a verb. Those of `lab`, `explain`, `traffic` and `audit` have
//! files below `cli/`. Doc comments here are what `--help` prints.
//! Invariant: plain data. clap checks forms, conflicts and requirements; whatever needs a file or
//! another role is checked by the command. Scripts use these names, so they stay. Some stand
//! elsewhere as text: in `record.rs` (`events run --supervised`), `misspelt` of `lab.rs` (`lab
//! probe --plugin`), `demo/screen.rs` and hints. So they do in `plugins/munin/tidegate_`, `soak`
//! and `bench`.
//! A default that only a doc comment names stands in the command or its role's crate, so change
//! both. `DEFAULT_FEEDBACK` is the default of `[profiles] event` as well (`profiles::config`). The
//! help repeats variables and exit codes (`environment.rs`, `main.rs`) and the columns of examples
//! (`sinks::EXAMPLE_COLUMNS`).
//! A new command also needs an arm in `main.rs`, and CONTRIBUTING.md's recipe has the rest.
//! Never here: what a command does.

mod admin;
mod audit;
mod explain;
mod lab;
mod pgtop;
mod traffic;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use stdx::Span;

pub(crate) use admin::AdminArgs;
pub(crate) use audit::AuditArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use lab::{
    BenchArgs, HttpArgs, LabCommand, LoadArgs, PluginArgs, ProbeArgs, Rate, ReportArgs, StraceArgs,
    WrittenArgs,
};
pub(crate) use pgtop::PgtopArgs;
pub(crate) use traffic::TrafficArgs;

const BEGIN: &str = "\
Begin with `tidegate demo`; then write a tidegate.toml (`tidegate config init` asks for it, \
`tidegate config reference` has every key), check it with `tidegate config check` and run it \
with `tidegate serve`.

Environment: TIDEGATE_LOG filters the log on stderr (info, debug, or by module); \
TIDEGATE_ADMIN_TOKEN is the admin token.
Exit codes: 0 done, 1 failed, 2 wrong usage, 78 wrong configuration.";

const REFERENCE_EXAMPLE: &str = "\
Examples: tidegate config reference route
          tidegate config reference route.cache
          tidegate config reference --grep timeout";

const CONFIG_EXPLAIN_EXAMPLE: &str = "\
Examples: tidegate config explain tidegate.toml
          tidegate config explain route.cache.ttl";

const INIT_EXAMPLE: &str = "\
Examples: tidegate config init
          tidegate config init --upstream 127.0.0.1:9000 --cache 60s --defaults
          tidegate config init counts.toml --log '/var/log/nginx/access.log*' --defaults";

const SCORE_EXAMPLE: &str = "\
Example: echo '{\"user\": {\"affinity\": {\"b\": 1}}, \"limit\": 3}' |
         tidegate model score model.json --items items.jsonl
         tidegate model score lightgbm.txt --rows rows.csv > predictions.csv";

const EMBED_EXAMPLE: &str = "\
Example: echo 'The Joy of Dog Walking' | tidegate model embed all-MiniLM-L6-v2";

const CLUSTER_EXAMPLE: &str = "\
Example: tidegate model cluster all-MiniLM-L6-v2 headlines.txt --members-min 3";

const EVENTS_EXAMPLE: &str = "\
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

const STATSD_EXAMPLE: &str = "\
Examples: tidegate statsd                                   as tidegate.toml says
          tidegate statsd --compat statsd -c /etc/statsd/localConfig.js
          echo 'jobs.done:1|c' | nc -u -w0 127.0.0.1 8125; echo counters | nc -N 127.0.0.1 8126
          echo 'a:320|ms|@0.1' | tidegate statsd eval --compat statsd
docs/STATSD.md has every option, and how to move from statsd and Net::Statsd::Server.";

const STATSD_EVAL_EXAMPLE: &str = concat!(
    r#"Examples: echo 'a:320|ms|@0.1' | tidegate statsd eval --compat statsd
          tidegate statsd eval -c /etc/statsd/localConfig.js < lines.txt
          echo '{"flush": {"counters": {"a": 5}}}' | tidegate statsd eval --json
"#,
    "It answers with `lines` (what each is read as, and why it is bad), `flush` (the tables with \
     rates and statistics) and `graphite` (names and numbers as they would be sent).\n",
    r#"With --json it takes requests, and writes a line for each:
  {"lines": "a:1|c\nb:2|ms"}
  {"flush": {"counters": {"c": 2}, "interval_s": 10,
             "timers": {"t": {"values": [1, 2], "count": 20}},
             "percentiles": [90], "statistics": ["mean"],
             "histograms": [{"part": "t", "bins": [1, "inf"]}]}}
  {"delete": {"names": ["a.b", "a.c"], "patterns": ["a.*"]}}"#
);

/// A personalised, model-ranked API in front of millions of users, from a handful of machines.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_help = BEGIN)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve what the configuration names: routes, models, the journal, profiles.
    Serve(FileArgs),
    /// Run the news example, self-contained, with simulated readers.
    Demo(DemoArgs),
    /// Write, check, print or explain the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Deliver log lines into databases, exactly once.
    #[command(subcommand, after_help = EVENTS_EXAMPLE)]
    Events(EventsCommand),
    /// Build, inspect or check profile files.
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// Inspect a model, score rows or items with it, embed or group texts.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Run a statsd server: UDP and TCP samples in, flushes to Graphite and others out.
    #[command(after_help = STATSD_EXAMPLE, args_conflicts_with_subcommands = true)]
    Statsd(StatsdArgs),
    /// Show or change who gets a personalised answer, in a running server.
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Say what a request gets and why: route, user, decision, cache, each score in parts.
    #[command(after_help = explain::EXAMPLE)]
    Explain(ExplainArgs),
    /// Show a running server's Python workers, replace them, or reload their app.
    #[command(subcommand)]
    Workers(WorkersCommand),
    /// Show traffic as it happens: of varnishlog, a journal or an access log.
    #[command(after_help = traffic::EXAMPLE)]
    Traffic(Box<TrafficArgs>),
    /// Watch PostgreSQL servers: queries, locks, waits; cancel exactly the query that was seen.
    #[command(after_help = pgtop::EXAMPLE)]
    Pgtop(Box<PgtopArgs>),
    /// Show who has done what, and verify that the record was not changed.
    #[command(after_help = audit::EXAMPLE)]
    Audit(Box<AuditArgs>),
    /// Measure latencies, and say what they are made of.
    #[command(subcommand)]
    Lab(LabCommand),
}

/// Which statsd to be.
#[derive(Debug, Args)]
pub(crate) struct StatsdArgs {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<StatsdCommand>,
    /// The configuration: a TOML file with a section `[statsd]`, or the replaced server's own file
    /// [default: tidegate.toml; with `--compat` localConfig.js].
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Behave as statsd on Node, or as Net::Statsd::Server: names, numbers, answers and oddities.
    /// A file that does not end in `.toml` is statsd's unless this says otherwise.
    #[arg(long, value_name = "statsd|perl", value_parser = ["statsd", "perl"])]
    pub compat: Option<String>,
    /// The configuration, where both servers expect it; what follows is passed over, as they do.
    #[arg(value_name = "FILE", hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub files: Vec<String>,
}

/// What to do with statsd's protocol but serve it.
#[derive(Debug, Subcommand)]
pub(crate) enum StatsdCommand {
    /// Say what lines on standard input mean, and what a flush of them would be.
    #[command(after_help = STATSD_EVAL_EXAMPLE)]
    Eval(StatsdEvalArgs),
    /// Print for Munin what the page of the backend `prometheus` has; `plugins/munin/tidegate_`
    /// calls it.
    Munin(StatsdMuninArgs),
}

/// What Munin asks of which plug-in.
#[derive(Debug, Args)]
pub(crate) struct StatsdMuninArgs {
    /// What Munin calls the plug-in: `tidegate_` and the beginning of names in the page.
    #[arg(long, value_name = "NAME", default_value = "tidegate_")]
    pub plugin: String,
    /// The page.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9102/metrics")]
    pub page: String,
    /// What is asked.
    #[arg(value_parser = ["fetch", "config", "autoconf", "suggest"], default_value = "fetch")]
    pub verb: String,
}

/// How to read, and what.
#[derive(Debug, Args)]
pub(crate) struct StatsdEvalArgs {
    /// The configuration, as for the server [default: none, everything as it is by default].
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read as statsd on Node, or as Net::Statsd::Server.
    #[arg(long, value_name = "statsd|perl", value_parser = ["statsd", "perl"])]
    pub compat: Option<String>,
    /// Take requests in JSON, and answer each on a line.
    #[arg(long)]
    pub json: bool,
}

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file.
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub config: PathBuf,
}

/// Which configuration, where a command has no other operand.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The configuration file, as with `--config`.
    #[arg(value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
    /// Which configuration.
    #[command(flatten)]
    config: ConfigArgs,
}

impl FileArgs {
    /// The file that is meant.
    pub(crate) fn config(self) -> PathBuf {
        self.file.unwrap_or(self.config.config)
    }
}

/// How to run the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Serve only, without simulated readers.
    #[arg(long)]
    pub no_readers: bool,
    /// End after this many seconds; runs until interrupted otherwise.
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Public address.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080")]
    pub public: std::net::SocketAddr,
    /// Admin address.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8081")]
    pub admin: std::net::SocketAddr,
    /// Where statsd samples come in, by UDP.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8125")]
    pub statsd: std::net::SocketAddr,
    /// Where statsd is asked what it has.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8126")]
    pub management: std::net::SocketAddr,
    /// Requests a second of all readers together.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub rate: u32,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report every error at once, with line and key; exit code 78 when there is one. A file of
    /// statsd's is checked as one, up to its first error.
    Check(FileArgs),
    /// Print the configuration as it stands, live changes included.
    Print(FileArgs),
    /// Print every key there is, with its meaning and default; or those of a section.
    #[command(after_help = REFERENCE_EXAMPLE)]
    Reference {
        /// The section, such as `route`, or a table in it, such as `route.cache`.
        #[arg(value_name = "SECTION")]
        section: Option<String>,
        /// Only keys whose name or text has this word.
        #[arg(long, value_name = "WORD")]
        grep: Option<String>,
    },
    /// Say in sentences what a configuration does, or what a key is.
    #[command(after_help = CONFIG_EXPLAIN_EXAMPLE)]
    Explain(ConfigExplainArgs),
    /// Ask a few questions, and write a configuration that runs.
    #[command(after_help = INIT_EXAMPLE)]
    Init(InitArgs),
}

/// Which configuration or key to explain.
#[derive(Debug, Args)]
pub(crate) struct ConfigExplainArgs {
    /// A configuration file, or a key such as `route.cache.ttl`.
    #[arg(value_name = "FILE|KEY", conflicts_with = "config")]
    pub what: Option<String>,
    /// Which configuration, without an operand.
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// What to write, and where to. What no option answers is asked for.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The file to write.
    #[arg(value_name = "FILE", default_value = "tidegate.toml")]
    pub file: PathBuf,
    /// What answers the requests: HOST:PORT, several with commas; a Python app such as main:app;
    /// or none.
    #[arg(long, value_name = "SERVERS|APP|none")]
    pub upstream: Option<String>,
    /// Log files of another web server, which are counted; then nothing is served.
    #[arg(long, value_name = "FILES", conflicts_with_all = ["upstream", "cache", "user", "public",
          "admin"])]
    pub log: Option<String>,
    /// How long answers are stored for everybody: a time such as 60s, `origin` or `none`.
    #[arg(long, value_name = "TIME|origin|none")]
    pub cache: Option<String>,
    /// Where a request has the user's id: cookie:NAME, header:NAME, query:NAME or `none`.
    #[arg(long, value_name = "PLACE|none")]
    pub user: Option<String>,
    /// Where requests are counted: the address of a [[sink]], or `none`.
    #[arg(long, value_name = "URL|none")]
    pub sink: Option<String>,
    /// Where clients come in.
    #[arg(long, value_name = "IP:PORT")]
    pub public: Option<String>,
    /// Where metrics, status and actions are served [default: 127.0.0.1:8081].
    #[arg(long, value_name = "IP:PORT")]
    pub admin: Option<String>,
    /// Ask nothing: what no option answers is at its default.
    #[arg(long)]
    pub defaults: bool,
    /// Replace a file that is there.
    #[arg(long)]
    pub force: bool,
}

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

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// Build the profile file from the journal or by `query`, as `[profiles]` says, and swap it in.
    Build {
        /// Which configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Replace the file even if more rows are lost than `shrink_max` allows.
        #[arg(long)]
        force: bool,
    },
    /// Show what a profile file holds, of one user or in all.
    Inspect {
        /// The profile file.
        file: PathBuf,
        /// The user whose profile is shown; without it, some of the ids in the file.
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// Check a profile file thoroughly, with what each row says; exit code 1 when it is not fit.
    Check {
        /// The profile file.
        #[arg(required_unless_present = "rebuild", conflicts_with = "rebuild")]
        file: Option<PathBuf>,
        /// Compare what scheduled builds made of the configuration's file with a build from the
        /// whole journal; exit code 1 when they differ.
        #[arg(long)]
        rebuild: bool,
        /// Which configuration, for `--rebuild`.
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// What to do with a model.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Show what a model is made of: features and weights, trees, inputs and outputs, layers.
    Inspect {
        /// The model file, or the directory of a model of texts.
        file: PathBuf,
        /// Check the model against these items, too.
        #[arg(long, value_name = "FILE")]
        items: Option<PathBuf>,
    },
    /// Rank items with a model, as `POST /v1/models/NAME/rank` does; or, without items, predict a
    /// table's rows: CSV in, a line of predictions per row out.
    #[command(after_help = SCORE_EXAMPLE)]
    Score {
        /// The model file.
        file: PathBuf,
        /// The items file; the request's body, a JSON object, is then read from stdin.
        #[arg(long, value_name = "FILE")]
        items: Option<PathBuf>,
        /// The table, with or without a header; stdin by default.
        #[arg(long, value_name = "FILE", conflicts_with = "items")]
        rows: Option<PathBuf>,
    },
    /// Embed texts: a text per line in, a JSON object per line out.
    #[command(after_help = EMBED_EXAMPLE)]
    Embed(LinesArgs),
    /// Group sentences by meaning, as `POST /cluster` does: a sentence per line in, JSON out.
    #[command(after_help = CLUSTER_EXAMPLE)]
    Cluster {
        /// Which model and texts.
        #[command(flatten)]
        lines: LinesArgs,
        /// How groups are found; by default `linkage` for up to 5,000 sentences.
        #[arg(long, value_enum)]
        method: Option<GroupingArg>,
        /// Cosine from which sentences belong together, from -1 to 1; default 0.35 for `linkage`,
        /// 0.5 for `communities`, 0.55 with static embeddings.
        #[arg(long, value_name = "COSINE", allow_negative_numbers = true)]
        similarity_min: Option<f32>,
        /// Sentences of the smallest group.
        #[arg(long, value_name = "N")]
        members_min: Option<usize>,
    },
}

/// A model of texts, and lines for it.
#[derive(Debug, Args)]
pub(crate) struct LinesArgs {
    /// The model's directory: config.json, tokenizer.json, model.safetensors.
    pub dir: PathBuf,
    /// The texts, one per line; stdin by default.
    pub texts: Option<PathBuf>,
    /// What is computed in.
    #[arg(long, value_enum, default_value = "f32")]
    pub precision: PrecisionArg,
}

/// What vectors are computed in.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// Floats of 32 bits.
    F32,
    /// Weights and inputs of 16 bits.
    Bf16,
    /// Weights and inputs of 8 bits.
    Int8,
}

/// How groups are found.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GroupingArg {
    /// Groups are joined while their mean cosine is high enough.
    Linkage,
    /// Groups of neighbours, for many sentences.
    Communities,
}

/// What to do with the rollout.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// Show the shares of every route that personalises.
    Show {
        /// Which server.
        #[command(flatten)]
        admin: AdminArgs,
        /// Print JSON with every field, for scripts.
        #[arg(long)]
        json: bool,
    },
    /// Change shares; they stay changed after a restart, until cleared.
    #[command(group(ArgGroup::new("change").required(true).multiple(true)
        .args(["rollout", "hold_out", "kill", "clear"])))]
    Set {
        /// Which server.
        #[command(flatten)]
        admin: AdminArgs,
        /// Name of the route, which is its path unless the configuration names it; all routes
        /// that personalise by default.
        #[arg(long)]
        route: Option<String>,
        /// Share of users with a profile who are let in, such as 5%.
        #[arg(long, value_name = "SHARE")]
        rollout: Option<String>,
        /// Share of users who are never let in, for comparison, such as 1%.
        #[arg(long, value_name = "SHARE")]
        hold_out: Option<String>,
        /// The kill switch: `on` gives everybody the generic answer.
        #[arg(long, value_name = "on|off", value_parser = ["on", "off"])]
        #[arg(hide_possible_values = true)]
        kill: Option<String>,
        /// Forget every change: the configuration stands again.
        #[arg(long, conflicts_with_all = ["rollout", "hold_out", "kill", "route"])]
        clear: bool,
        /// Print JSON with every field, for scripts.
        #[arg(long)]
        json: bool,
    },
}

/// What to do with workers.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkersCommand {
    /// Show every pool: its workers, their requests, memory and age, why workers ended, and the
    /// last error with its traceback.
    List {
        /// Which server.
        #[command(flatten)]
        admin: AdminArgs,
        /// One pool, by the name of its upstream.
        pool: Option<String>,
        /// How it is printed: a table for people, or JSON with every field.
        #[arg(long, value_name = "table|json", value_parser = ["table", "json"])]
        #[arg(default_value = "table", hide_possible_values = true)]
        format: String,
    },
    /// Replace every worker by a new one, one at a time; no request is lost.
    Recycle(PoolArgs),
    /// Import the app anew; the present workers serve until the new ones have answered.
    Reload(PoolArgs),
}

/// A pool of a running server.
#[derive(Debug, Args)]
pub(crate) struct PoolArgs {
    /// Which server.
    #[command(flatten)]
    pub admin: AdminArgs,
    /// The pool, by the name of its upstream.
    pub pool: String,
}
