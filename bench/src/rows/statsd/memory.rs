//! What names cost in memory, and whether receiving goes on while all of them are flushed.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Blast, Stop};

use super::lines::{LINES, datagrams, learn};
use super::{Trial, figure};
use crate::measure::Measurement;
use crate::peers::statsd::{self, Options, Statsd};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "statsd-memory",
    what: "a million counters, 100,000 timers, and receiving while they are flushed",
    notes: "Names are of ten bytes; timers get 32 values each.\n\
        Memory is the highest resident memory of the process.\n\
        It includes three flushes of the counters and one of the timers, each written to a file.\n\
        Beside flushes: a million names are flushed every second, and 200,000 tiny datagrams a \
        second arrive.\n\
        The flush has the receiver's core, too.",
    peers: &["tidegate"],
    run,
};

const COUNTERS: usize = 1_000_000;
const TIMERS: usize = 100_000;
const VALUES: usize = 32;
/// Datagrams a second while names are learnt.
const SLOWLY: f64 = 20_000.0;
const STEADY: f64 = 200_000.0;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let rounds = setup.rounds.min(3);
    let (mut counters, mut timers, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let side = start(setup, "1s")?;
        learn(&side, &datagrams(COUNTERS, "c"))?;
        beside.push(steady(&side, 3.2)?);
        counters.push(megabytes(&side));
        drop(side);

        let side = start(setup, "5s")?;
        let datagrams = datagrams(TIMERS, "ms");
        let stop = Stop::Count((datagrams.len() * VALUES) as u64);
        let slowly = Blast::new(side.server.address, datagrams, stop);
        let trial = Trial::run(&side, Blast { rate: Some(SLOWLY), ..slowly })?;
        ensure!(trial.share() > 99.0, "too few datagrams came to fill the timers");
        steady(&side, 5.2)?;
        timers.push(megabytes(&side));
    }
    let memory = |case: &str, values: Vec<f64>| Measurement::new(case, "MB resident", values);
    let case = "200,000 datagrams/s beside flushes of a million names";
    Ok(vec![
        memory("a million counters", counters).at_most(300.0, "under 300 MB"),
        memory("100,000 timers", timers).at_most(400.0, "under 400 MB"),
        figure(case, "received %", &beside, Trial::share).at_least(100.0, "all: it never stalls"),
        figure(case, "datagrams/s sent", &beside, Trial::offered),
    ])
}

fn start(setup: &Setup, flush: &str) -> Result<Statsd> {
    statsd::tidegate(setup, &Options { flush, ..Options::default() })
}

/// Tiny datagrams for so long.
fn steady(side: &Statsd, seconds: f64) -> Result<Trial> {
    let stop = Stop::After(Duration::from_secs_f64(seconds));
    let blast = Blast::new(side.server.address, vec![b"a:1|c".to_vec(); LINES], stop);
    Trial::run(side, Blast { rate: Some(STEADY), ..blast })
}

fn megabytes(side: &Statsd) -> f64 {
    side.server.peak_bytes() as f64 / 1e6
}
