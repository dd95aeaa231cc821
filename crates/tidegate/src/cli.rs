//! Declares the command line: each command, argument and help text, as types that clap parses.
//!
//! Most commands are a noun, then a verb. Those with more than a few arguments have files below
//! `cli/`. Doc comments here are what `--help` prints.
//! Invariant: plain data. clap checks forms, conflicts and requirements; whatever needs a file or
//! another role is checked by the command. Scripts use these names, so they stay. Some stand
//! elsewhere as text: in `record.rs` (`events run --supervised`), `misspelt` of `lab.rs` (`lab
//! probe --plugin`), `demo/screen.rs` and hints. So they do in `plugins/munin/tidegate_`, `soak`
//! and `bench`.
//! A default that only a doc comment names stands in the command or its role's crate, so change
//! both. The help repeats variables and exit codes (`environment.rs`, `main.rs`).
//! A new command also needs an arm in `main.rs`, and CONTRIBUTING.md's recipe has the rest.
//! Never here: what a command does.

mod about;
mod admin;
mod audit;
mod config_file;
mod events;
mod explain;
mod lab;
mod model;
mod pgtop;
mod statsd;
mod traffic;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};

pub(crate) use about::{CompletionsArgs, ManualArgs, VersionArgs};
pub(crate) use admin::{AdminArgs, HealthArgs};
pub(crate) use audit::AuditArgs;
pub(crate) use config_file::{ConfigArgs, FileArgs};
pub(crate) use events::{
    AnswerFormat, EventsCommand, ExampleFormat, ExportArgs, InspectArgs, QueryArgs, ReplayArgs,
};
pub(crate) use explain::ExplainArgs;
pub(crate) use lab::{
    BenchArgs, CallArgs, FailIfArgs, HttpArgs, LabCommand, LoadArgs, PluginArgs, ProbeArgs, Rate,
    ReportArgs, SourceArgs, StepsArgs, StraceArgs, SwitchArgs, WatchArgs, WrittenArgs,
};
pub(crate) use model::{GroupingArg, LinesArgs, ModelCommand, PrecisionArg};
pub(crate) use pgtop::PgtopArgs;
pub(crate) use statsd::{StatsdArgs, StatsdCommand, StatsdEvalArgs, StatsdMuninArgs};
pub(crate) use traffic::TrafficArgs;

const BEGIN: &str = "\
Begin with `tidegate demo`; then write a tidegate.toml (`tidegate config init` asks for it, \
`tidegate config reference` has every key), check it with `tidegate config check` and run it \
with `tidegate serve`.

Environment: TIDEGATE_LOG filters the log on stderr (info, debug, or by module); \
TIDEGATE_ADMIN_TOKEN is the admin token.
Exit codes: 0 done, 1 failed, 2 wrong usage, 78 wrong configuration.";

const COMPLETIONS_EXAMPLE: &str = "\
Examples: tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate
          tidegate completions zsh > \"${fpath[1]}/_tidegate\"
          tidegate completions fish > ~/.config/fish/completions/tidegate.fish";

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
    #[command(subcommand, after_help = events::EXAMPLE)]
    Events(EventsCommand),
    /// Build, inspect or check profile files.
    #[command(subcommand)]
    Profiles(ProfilesCommand),
    /// Inspect a model, score rows or items with it, embed or group texts.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Run a statsd server: UDP and TCP samples in, flushes to Graphite and others out.
    #[command(after_help = statsd::EXAMPLE, args_conflicts_with_subcommands = true)]
    Statsd(StatsdArgs),
    /// Show or change who gets a personalised answer, in a running server.
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Say what a request gets and why: route, user, decision, cache, each score in parts.
    #[command(after_help = explain::EXAMPLE)]
    Explain(ExplainArgs),
    /// Ask a running server whether it lives or is ready; exit code 1 when not.
    Health(HealthArgs),
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
    /// Print what a shell needs to complete commands and options.
    #[command(after_help = COMPLETIONS_EXAMPLE)]
    Completions(CompletionsArgs),
    /// Write the manual: a page for each command, as man page and as Markdown.
    Manual(ManualArgs),
    /// Say which version this is, and what it is built of.
    Version(VersionArgs),
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
    /// How long answers are stored for everybody: a time such as 60s, `origin` or `none`. They are
    /// fetched without cookies.
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
