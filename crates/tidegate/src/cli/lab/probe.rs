//! Declares the command line of `tidegate lab probe`: how many calls, a second target, and the
//! plug-in's limits.
//!
//! Doc comments are what `--help` prints. What is called and how is in `call.rs`, which other verbs
//! share.
//! Invariant: a percentile is from 0 to 100. clap checks which options exclude each other.
//! `lab/probe/plan.rs` and `lab::probe` check the rest, such as whether a rate is possible.
//! The example repeats what `lab::probe` decides: the first five arrivals.

use clap::Args;
use lab::probe::{Pin, ProbeTarget};
use stdx::Span;

use super::call::{CallArgs, number, pin, target};
use super::fail_if::FailIfArgs;

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
    /// The same for the second target alone, to call one name at two addresses.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = pin, requires = "vs")]
    pub vs_resolve: Vec<Pin>,
    /// How the result is printed.
    #[arg(long, value_name = "text|json", value_parser = ["text", "json"])]
    #[arg(default_value = "text", hide_possible_values = true)]
    pub format: String,
    /// What is a failure.
    #[command(flatten)]
    pub bounds: FailIfArgs,
    // Behind it only what has a heading: those in it hold for what follows.
    /// What is called, and how.
    #[command(flatten)]
    pub call: CallArgs,
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

fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "a percentile is a number from 0 to 100".to_owned())
}
