//! The benchmark that Net::Statsd comes with, `benchmark.pl`, and how much of it arrives.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::{Sent, Trial, figure};
use crate::measure::Measurement;
use crate::peers::statsd::{self, Options, Statsd};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "statsd-source",
    what: "`benchmark.pl` of Net::Statsd: how many of its datagrams arrive, beside Node statsd",
    notes: "This is the benchmark of Net::Statsd::Server's announcement, as Debian ships it.\n\
        It sends five kinds of samples, a datagram each, from Perl as fast as it can.\n\
        It sends 1 and 5 million in all (0.5 million with `--quick`), one run each.\n\
        In the announcement, the original received 30 to 42 % of 5 million.\n\
        The Perl port received 36 to 42 %, or 50 to 54 % with a buffer of 1 MB.\n\
        The buffers are what `net.core.rmem_max` grants at 4,194,304 and at its default of \
        212,992.\n\
        Node has no setting for it, and gets the default.\n\
        What Tidegate received and what it counts as dropped is what was sent, to the datagram.",
    peers: &["tidegate", "node statsd", "Net::Statsd"],
    run,
};

const PROGRAM: &str = "/usr/share/doc/libnet-statsd-perl/examples/benchmark.pl";
/// It makes five calls a round.
const CALLS: u64 = 5;
const GRANTED: [(usize, &str); 2] = [(4_194_304, "4,194,304"), (212_992, "212,992")];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    let counts: &[(u64, &str)] =
        if setup.quick { &[(500_000, "0.5 M")] } else { &[(1_000_000, "1 M"), (5_000_000, "5 M")] };
    for (count, text) in counts {
        for (buffer_bytes, buffer) in GRANTED {
            let options = Options { buffer_bytes: Some(buffer_bytes), ..Options::default() };
            let trial = benchmark(&statsd::tidegate(setup, &options)?, *count)?;
            let case = format!("{text}, Tidegate, buffer {buffer}");
            let mut figures = describe(&case, &trial);
            if buffer_bytes > 1 << 20 {
                let share = figures.remove(0);
                figures.insert(0, share.at_least(100.0, "all"));
            }
            measurements.extend(figures);
        }
        let node = statsd::node(setup)?;
        let trial = benchmark(&node, *count)?;
        measurements.extend(describe(&format!("{text}, Node statsd, buffer 212,992"), &trial));
    }
    Ok(measurements)
}

fn describe(case: &str, trial: &Trial) -> Vec<Measurement> {
    let trials = [*trial];
    let missing = |trial: &Trial| {
        let dropped = trial.dropped.unwrap_or(0);
        trial.sent as f64 - (trial.received + dropped) as f64
    };
    let missing = figure(case, "neither received nor in its count of drops", &trials, missing);
    let is_ours = trial.dropped.is_some();
    vec![
        figure(case, "received %", &trials, Trial::share),
        if is_ours { missing.at_most(0.0, "none") } else { missing },
        figure(case, "datagrams/s sent", &trials, Trial::offered),
        figure(case, "CPU µs per datagram", &trials, |trial| 1e6 / trial.by_cpu()),
    ]
}

fn benchmark(side: &Statsd, count: u64) -> Result<Trial> {
    let port = side.server.address.port().to_string();
    let before = side.count()?;
    let begun = Instant::now();
    let output = Command::new("perl")
        .args([PROGRAM, "--host", "127.0.0.1", "--port", &port])
        .arg((count / CALLS).to_string())
        .stdin(Stdio::null())
        .output()
        .context("start `perl`")?;
    let elapsed = begun.elapsed();
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "run `{PROGRAM}`: {}\n{stderr}\nhint: apt-get install libnet-statsd-perl",
        output.status
    );
    Trial::new(side, (&before, &side.count()?), Sent { datagrams: count, bytes: 1, elapsed })
}
