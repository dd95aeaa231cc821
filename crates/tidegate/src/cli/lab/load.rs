//! Declares the command line of `tidegate lab load`, and reads its rates: `2000` or `100..5000`.
//!
//! Doc comments are what `--help` prints. Defaults in brackets there are set in `lab/load/plan.rs`:
//! change both. That file also reads the words of `--arrivals`; any other word is a file. The words
//! of `--format` are compared in `lab/load.rs`.
//! Invariant: a rate is not negative and at most [`RATE_MAX`], and a steady one is above 0. A ramp
//! may begin or end at 0, but not both. What options mean together is checked by the plan.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use stdx::Span;

use lab::bounds::FailBound;

use super::fail_if::bound;

/// More than any machine sends; what is due and cannot be sent is held in memory.
const RATE_MAX: f64 = 1e7;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab load http://127.0.0.1/ --connections 64 --for 30s
          tidegate lab load http://127.0.0.1/ --rate 2000 --warm-up 2s
          tidegate lab load http://127.0.0.1/ --rate 100..5000 --steps 8
          tidegate lab load --urls targets.txt --rate 500 --hgrm out.hgrm
          tidegate lab load http://127.0.0.1/ --arrivals trace.txt
With --rate or a trace the loop is open: calls are sent when they are due, whatever the server \
does, and their latency counts from then. Otherwise it is closed: a connection's next call \
follows its last reply. Ctrl-C ends a run with a report, a second one at once.
Exit codes: 0 measured, 1 no call succeeded or given up, 2 wrong usage; of --fail-if 3 exceeded, \
4 cannot be told.";

/// What is called, at which pace, and what becomes of the result.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// What is called, in turn: http://HOST[:PORT][/PATH] or https://…, by HTTP/1.1; with several
    /// servers each gets its share.
    #[arg(value_name = "URL", required_unless_present_any = ["urls", "arrivals"])]
    pub url: Vec<String>,
    /// More of them from a file: a URL a line, or vegeta's targets (METHOD URL, headers, @body; or
    /// its JSON). A path alone is added to the first URL's server.
    #[arg(long, value_name = "FILE")]
    pub urls: Option<PathBuf>,

    /// Calls per second, or a ramp such as 100..5000 over the time of the run.
    #[arg(short, long, value_name = "N|A..B")]
    pub rate: Option<Rate>,
    /// The ramp in so many steps of equal length instead of evenly.
    #[arg(long, value_name = "N", requires = "rate")]
    pub steps: Option<NonZeroU32>,
    /// At random (poisson) or at even distances (uniform); or a file with a time a line, in seconds
    /// or timestamps, optionally with method and URL.
    #[arg(long, value_name = "LAW|FILE", default_value = "poisson")]
    pub arrivals: String,
    /// Connections: of a closed loop all [default: 64]; of an open loop those that it begins with
    /// [default: 16].
    #[arg(short, long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: Option<u32>,
    /// Connections that an open loop opens at most, when all others are busy.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub connections_max: u32,

    /// Calls in flight on each connection, sent without waiting for replies; in an open loop at
    /// most so many, when no connection is free.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub pipeline: u32,
    /// Take any certificate.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Believe the certificates of this file, in PEM, and what they have signed, not the web's.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<PathBuf>,

    /// How long [default: 10s, a trace to its end].
    #[arg(long = "for", visible_alias = "duration", value_name = "TIME")]
    pub time: Option<Span>,
    /// So many calls instead.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "time")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub calls: Option<u64>,
    /// Calls of this first span are made and not measured.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub warm_up: Span,
    /// Threads that send.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// A call without a whole reply after this long has failed; so has one that waits so long to be
    /// sent.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub timeout: Span,
    /// Seed of random arrivals, so that they can be repeated.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// The method; GET, or POST with a body.
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header, such as 'Host: shop'.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The body, or @FILE.
    #[arg(short = 'd', long, value_name = "TEXT")]
    pub body: Option<String>,

    /// End with exit code 3 if this is so: 'p99 > 50ms', 'mean > 10ms', 'stddev > 20ms',
    /// 'max > 1s', 'errors > 1%'. With 4 if the calls are too few to tell. May be repeated.
    #[arg(long, value_name = "BOUND", value_parser = bound)]
    pub fail_if: Vec<FailBound>,
    /// How the report reads.
    #[arg(long, value_name = "text|json", value_parser = ["text", "json"], default_value = "text")]
    pub format: String,
    /// Only say how the load went, not what its calls show: to look at a million of them takes some
    /// seconds.
    #[arg(long)]
    pub no_verdict: bool,
    /// Write the percentile distribution of the latencies, as HdrHistogram has it.
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,
    /// Write a histogram of each second, as HdrHistogram's interval log, while the run goes.
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Keep the calls for `tidegate lab report`.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Calls that are kept one by one, for quantiles and verdicts; of more a random sample.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=20_000_000))]
    pub keep: u32,
}

/// Calls per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rate {
    /// The whole time.
    Steady(f64),
    /// From one to another.
    Ramp(f64, f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no rate; write 2000 or 100..5000, at most {RATE_MAX} a second");
        let number = |text: &str| text.parse().ok().filter(|rate| (0.0..=RATE_MAX).contains(rate));
        let rate = match text.split_once("..") {
            None => number(text).map(Self::Steady),
            Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| Self::Ramp(from, to)),
        };
        rate.filter(|rate| !matches!(rate, Self::Steady(0.0) | Self::Ramp(0.0, 0.0)))
            .ok_or_else(wrong)
    }
}
