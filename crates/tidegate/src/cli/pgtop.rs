//! Declares the arguments of `tidegate pgtop`.
//!
//! Names are pgtop's where it has the option, so that its users need no others; `-h` is the host,
//! as there. All of them win over the configuration file.

use std::path::PathBuf;

use ::pgtop::PgView;
use clap::{ArgAction, Args};

pub(super) const EXAMPLE: &str = "\
Examples: tidegate pgtop                                  as ~/.pgtop and PG* say
          tidegate pgtop -h db1:5432 -u postgres -d shop
          tidegate pgtop db1/shop db2/shop service=archive      three servers, `]` and `[` change
          tidegate pgtop -b --view locks --format json db1/shop
          tidegate pgtop --record friday.pgtop db1/shop
          tidegate pgtop --replay friday.pgtop
docs/operating/pgtop.md has every option and key, and what differs from pgtop.";

/// Which servers to watch, and how.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct PgtopArgs {
    /// Servers: HOST[:PORT][/DATABASE], `host=… port=… service=…`, or an URL [default: as the
    /// options below, the file and the environment say].
    #[arg(value_name = "SERVER")]
    pub servers: Vec<String>,
    /// Where to connect, and as whom.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// How it looks.
    #[command(flatten)]
    pub look: LookArgs,
    /// What else is done.
    #[command(flatten)]
    pub output: OutputArgs,
    /// pgtop's configuration file [default: ~/.pgtop, else ~/.mytop].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The configuration whose `[audit]` says where signals are recorded [default: tidegate.toml,
    /// if it is there].
    #[arg(long, value_name = "FILE")]
    pub audit_config: Option<PathBuf>,
    /// Print help.
    #[arg(long, action = ArgAction::Help)]
    pub help: Option<bool>,
}

/// Where to connect, and as whom.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// The role.
    #[arg(short, long)]
    pub user: Option<String>,
    /// Its password; `.pgpass` and `--prompt` keep it out of the list of processes.
    #[arg(short, long, visible_alias = "pass", value_name = "PASSWORD")]
    pub password: Option<String>,
    /// The database.
    #[arg(short, long, visible_alias = "db")]
    pub database: Option<String>,
    /// The host, or the directory of a socket.
    #[arg(short = 'h', long, value_name = "HOST[:PORT]")]
    pub host: Option<String>,
    /// The port.
    #[arg(short = 'P', long)]
    pub port: Option<u16>,
    /// A socket, or its directory.
    #[arg(short = 'S', long)]
    pub socket: Option<PathBuf>,
    /// How the connection is encrypted: disable, prefer, require or verify-full.
    #[arg(long, value_name = "MODE")]
    pub sslmode: Option<String>,
    /// Ask for the password.
    #[arg(long, overrides_with = "no_prompt")]
    pub prompt: bool,
    /// Do not ask for it.
    #[arg(long, visible_alias = "noprompt")]
    pub no_prompt: bool,
}

/// How it looks.
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// Seconds between two frames, from 0.2 on [default: 5].
    #[arg(short = 's', long, value_name = "SECONDS", value_parser = ::pgtop::delay_s)]
    #[arg(allow_negative_numbers = true)]
    pub delay: Option<f64>,
    /// Print one frame and end.
    #[arg(short, long, visible_alias = "batchmode")]
    pub batch: bool,
    /// How a printed frame reads.
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    pub format: String,
    /// The view to begin with.
    #[arg(long, value_name = "VIEW", help = format!("The view to begin with: {}", PgView::names()))]
    pub view: Option<String>,
    /// Use colours.
    #[arg(long, overrides_with = "no_color")]
    pub color: bool,
    /// Use none.
    #[arg(long, visible_alias = "nocolor")]
    pub no_color: bool,
    /// Show the header.
    #[arg(long, overrides_with = "no_header")]
    pub header: bool,
    /// Leave it out.
    #[arg(long, visible_alias = "noheader")]
    pub no_header: bool,
    /// Show idle sessions.
    #[arg(short, long, overrides_with = "no_idle")]
    pub idle: bool,
    /// Leave them out.
    #[arg(long, visible_alias = "noidle")]
    pub no_idle: bool,
    /// Show the names of clients' addresses, as `/etc/hosts` and name servers have them.
    #[arg(short, long)]
    pub resolve: bool,
}

/// What else is done.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Seconds from which a query is slow: bold, in the log, and posted [default: 60].
    #[arg(long = "slow_threshold", visible_alias = "slow-threshold", value_name = "SECONDS")]
    pub slow_threshold: Option<f64>,
    /// Where slow queries are posted, as Slack takes them.
    #[arg(long = "slack_webhook", visible_alias = "slack-webhook", value_name = "URL")]
    pub slack_webhook: Option<String>,
    /// Where slow queries are appended [default: pgtop.log, where a threshold or webhook is given].
    #[arg(long, value_name = "FILE")]
    pub slow_log: Option<PathBuf>,
    /// Record frames of all servers, each second.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Bytes of a recording at most; the oldest half goes.
    #[arg(long, value_name = "BYTES", default_value = "256MiB")]
    pub record_size: stdx::ByteSize,
    /// Show a recording.
    #[arg(long, value_name = "FILE", conflicts_with = "servers")]
    pub replay: Option<PathBuf>,
    /// Send counts of sessions and slow queries to a statsd.
    #[arg(long, value_name = "HOST:PORT")]
    pub statsd: Option<String>,
}
