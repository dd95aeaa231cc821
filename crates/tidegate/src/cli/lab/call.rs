//! Declares what the verbs that call a target share: the target, arrivals, addresses and HTTP.
//!
//! Doc comments are what `--help` prints. Text with `{n}` is written with the macro `number`,
//! because clap would break the line there. Targets, pins and rates are read while clap parses, by
//! `lab::probe` where it knows the syntax. Headers, statuses and bodies stay text until
//! `lab/probe/plan.rs`, which checks what clap cannot.
//! The help repeats what `lab::probe` decides: the statuses that are no failure, and the attributes
//! that are always kept.

use std::path::PathBuf;

use clap::Args;
use lab::LabError;
use lab::probe::{Pin, ProbeTarget};
use stdx::Span;

/// `{n}` as it is to be read: clap takes these three letters for the end of a line. The sequence
/// between them changes nothing on a terminal, and clap leaves it out elsewhere.
macro_rules! number {
    () => {
        "{\u{1b}[mn}"
    };
}

pub(super) use number;

/// What is called, and how.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    #[arg(value_parser = target, help = concat!(
        "http://… or https://…, tcp://HOST:PORT, dns:NAME[@SERVER[:PORT]][?type=TYPE], icmp:HOST, \
         or exec:COMMAND; `", number!(), "` in a path, a header, a body, a name or a command is a \
         fresh number for each burst. Several are called in turns, with a row each"
    ))]
    pub target: Vec<ProbeTarget>,
    /// A program and its arguments; a Nagios plug-in's states and performance data are read.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Arrivals a second, on average.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// Arrivals at even distances instead of random ones.
    #[arg(long, conflicts_with = "closed")]
    pub uniform: bool,
    /// One call after the other, without a pause.
    #[arg(long, conflicts_with = "rate")]
    pub closed: bool,
    /// Calls of one arrival, sent together.
    #[arg(long, value_name = "K", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub burst: u32,
    /// How long after the one before each call of a burst is sent.
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    pub stagger: Span,
    /// Seed of the arrivals, so that they can be repeated.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[arg(long, value_name = "N", help = concat!(
        "The first number that `", number!(), "` stands for; by the clock without it, so that no \
         run repeats the keys of another"
    ))]
    pub first: Option<u64>,
    /// A call that takes longer has failed.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Span,
    /// Connect to this address where HOST (* is any) and PORT are called, as curl does. The name
    /// in the request and in the certificate stays the same.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = pin)]
    pub resolve: Vec<Pin>,
    /// Call IPv4 addresses only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Call IPv6 addresses only.
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Keep every call in this file, for `tidegate lab report --from FILE`.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// The configuration whose `[audit]` says where a command is recorded [default:
    /// tidegate.toml, if it is there; else syslog alone].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Calls that take longer are slow; the slowest twentieth without it.
    #[arg(long, value_name = "TIME")]
    pub slow: Option<Span>,

    /// How HTTP is spoken.
    #[command(flatten)]
    pub http: HttpArgs,
}

pub(super) fn target(text: &str) -> Result<ProbeTarget, String> {
    text.parse().map_err(misread)
}

pub(super) fn pin(text: &str) -> Result<Pin, String> {
    text.parse().map_err(misread)
}

/// What is wrong, without what was written, which clap names.
fn misread(error: LabError) -> String {
    match error {
        LabError::Target { reason, .. } => reason,
        other => other.to_string(),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is no rate; write 20 for 20 a second"))
}

/// How HTTP is spoken.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct HttpArgs {
    /// The method; GET, or POST with a body.
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header, such as 'Host: shop'.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The body, or @FILE.
    #[arg(short = 'd', long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Statuses that are no failure, such as 200,404 or 2xx [default: below 400].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub expect_status: Vec<String>,
    /// Keep connections open between calls.
    #[arg(long)]
    pub keep_alive: bool,
    /// Take any certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Believe the certificates of this file, in PEM, and what they have signed, not the web's.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,
    /// A header of answers that is kept with each call, beside Server, Cache-Status and X-Cache.
    #[arg(long, value_name = "HEADER")]
    pub attribute: Vec<String>,
}
