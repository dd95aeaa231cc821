//! Declares the command line of `tidegate lab watch`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints.

use std::path::PathBuf;

use clap::Args;
use lab::probe::ProbeTarget;
use stdx::{ByteSize, Span};

use super::call::{HttpArgs, target};

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab watch http://127.0.0.1:8080/api
          tidegate lab watch http://shop/api tcp://db:5432 --every 1s -o night.db
          tidegate lab watch http://shop/ --pid 4711 --collector-log gc.log --statsd 127.0.0.1:8125
          tidegate lab report --from night.db --since 12h
It goes on until a signal ends it, and goes on with a file that is there. As root it sees most: \
short programs, and what the programs of others read and write. A signal that this host lacks is \
left out, and stderr says so.
Exit codes: 0 ended by a signal or after --for, 1 the file or a target refused, 2 wrong usage.";

/// What to watch, and where to keep it.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// What is probed, as `lab probe` takes it: http://…, tcp://HOST:PORT, dns:NAME, icmp:HOST or
    /// exec:COMMAND. Each has calls of its own.
    #[arg(required = true, value_name = "TARGET", value_parser = target)]
    pub targets: Vec<ProbeTarget>,
    /// The file, a database of SQLite; one that is there is gone on with.
    #[arg(short, long, value_name = "FILE", default_value = "watch.db")]
    pub output: PathBuf,
    /// Time between two calls to a target, on average: they arrive at random.
    #[arg(long = "every", value_name = "TIME", default_value = "5s")]
    pub interval: Span,
    /// How long to watch [default: to the signal that ends it].
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// What is older is deleted.
    #[arg(long, value_name = "TIME", default_value = "7d")]
    pub keep: Span,
    /// How large the file may be; beyond it the oldest is deleted.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub size: ByteSize,
    /// A call that takes longer has failed.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Span,
    /// A process whose control group's throttling is watched; may be repeated.
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// A log of a garbage collector (JVM, or Go's gctrace) whose pauses are summed; may be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    pub collector_log: Vec<PathBuf>,
    /// A statsd server that is sent calls and signals.
    #[arg(long, value_name = "HOST:PORT")]
    pub statsd: Option<String>,
    /// The configuration whose `[audit]` says where a command is recorded [default:
    /// tidegate.toml, if it is there; else syslog alone].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How HTTP is spoken.
    #[command(flatten)]
    pub http: HttpArgs,
}
