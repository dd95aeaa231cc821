//! Declares the command line of `tidegate statsd`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const EXAMPLE: &str = "\
Examples: tidegate statsd                                   as tidegate.toml says
          tidegate statsd --compat statsd -c /etc/statsd/localConfig.js
          echo 'jobs.done:1|c' | nc -u -w0 127.0.0.1 8125; echo counters | nc -N 127.0.0.1 8126
          echo 'a:320|ms|@0.1' | tidegate statsd eval --compat statsd
docs/STATSD.md has every option, and how to move from statsd and Net::Statsd::Server.";

const EVAL_EXAMPLE: &str = concat!(
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
    #[command(after_help = EVAL_EXAMPLE)]
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
