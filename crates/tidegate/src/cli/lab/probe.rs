//! Declares the command line of `tidegate lab probe`: target, arrivals, HTTP, and the plug-in's
//! limits.
//!
//! Doc comments are what `--help` prints. Text with `{n}` is written with the macro `number`,
//! because clap would break the line there. Targets, pins, rates and percentiles are read while
//! clap parses, by `lab::probe` where it knows the syntax. Headers, statuses and bodies stay text
//! until `lab/probe/plan.rs`.
//! Invariant: a percentile is from 0 to 100. clap checks which options exclude each other.
//! `lab/probe/plan.rs` and `lab::probe` check the rest, such as whether a rate is possible.
//! The help repeats what `lab::probe` decides: the first five arrivals, the statuses that are no
//! failure, and the attributes that are always kept.

use std::path::PathBuf;

use clap::Args;
use lab::LabError;
use lab::probe::{Pin, ProbeTarget};
use stdx::Span;

use super::fail_if::FailIfArgs;

/// `{n}` as it is to be read: clap takes these three letters for the end of a line. The sequence
/// between them changes nothing on a terminal, and clap leaves it out elsewhere.
macro_rules! number {
    () => {
        "{\u{1b}[mn}"
    };
}

pub(super) const EXAMPLE: &str = concat!(
    "\
Examples: tidegate lab probe https://example.org/api
          tidegate lab probe http://10.0.0.1 --vs http://10.0.0.2 -H Host:shop
          tidegate lab probe http://127.0.0.1/x -n 500 --save x.json
          tidegate lab report --from x.json
          tidegate lab probe 'http://127.0.0.1/x?",
    number!(),
    "' --burst 8 --stagger 4ms
          tidegate lab probe https://shop/ --resolve shop:443:10.0.0.1 \\
            --vs https://shop/ --vs-resolve shop:443:10.0.0.2
          tidegate lab probe http://10.0.0.1/ http://10.0.0.2/ tcp://db:5432
          tidegate lab probe tcp://db:5432;  icmp:host;  dns:name@9.9.9.9
          tidegate lab probe -- check_http -H example.org
          tidegate lab probe http://127.0.0.1/ --plugin --warn 200ms --crit 1s
Calls arrive at random, as those of independent clients do. Without --rate the first five come \
one after the other, and the rest on average four times their median apart.
Exit codes: 0 measured, 1 no call succeeded, 2 wrong usage, of --fail-if 3 exceeded and 4 cannot \
be told; with --plugin those of Nagios."
);

/// What is called, when and how.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
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
    /// A second target, called in turns with the first: how much slower is it?
    #[arg(long, value_name = "TARGET", value_parser = target)]
    pub vs: Option<ProbeTarget>,

    /// Calls, or bursts, to each target.
    #[arg(short = 'n', long, alias = "count", value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: u64,
    /// Calls for so long instead.
    #[arg(long = "for", visible_alias = "duration", value_name = "TIME", conflicts_with = "calls")]
    pub time: Option<Span>,
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
    /// The same for the second target alone, to call one name at two addresses.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = pin, requires = "vs")]
    pub vs_resolve: Vec<Pin>,
    /// Call IPv4 addresses only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Call IPv6 addresses only.
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// How the result is printed.
    #[arg(long, value_name = "text|json", value_parser = ["text", "json"])]
    #[arg(default_value = "text", hide_possible_values = true)]
    pub format: String,
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

    /// What is a failure.
    #[command(flatten)]
    pub bounds: FailIfArgs,
    /// How HTTP is spoken.
    #[command(flatten)]
    pub http: HttpArgs,
    /// As a plug-in of Nagios.
    #[command(flatten)]
    pub plugin: PluginArgs,
}

/// As a plug-in of Nagios.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub(crate) struct PluginArgs {
    /// Print one line, and exit with 0 OK, 1 WARNING, 2 CRITICAL or 3 UNKNOWN, as Nagios and its
    /// like expect of a plug-in. A failed call is a warning at least.
    #[arg(long, conflicts_with_all = ["vs", "fail_if"])]
    pub plugin: bool,
    /// WARNING when the percentile is more.
    #[arg(long, value_name = "TIME", requires = "plugin")]
    pub warn: Option<Span>,
    /// CRITICAL when the percentile is more.
    #[arg(long, value_name = "TIME", requires = "plugin")]
    pub crit: Option<Span>,
    /// Which percentile is judged.
    #[arg(long, value_name = "P", default_value_t = 95.0, value_parser = percentile)]
    #[arg(requires = "plugin")]
    pub percentile: f64,
}

pub(super) fn target(text: &str) -> Result<ProbeTarget, String> {
    text.parse().map_err(misread)
}

fn pin(text: &str) -> Result<Pin, String> {
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

fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "a percentile is a number from 0 to 100".to_owned())
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
