//! Datagrams of 1,432 bytes, 86 lines each: what reading and adding up costs.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Blast, Stop};
use stdx::Random;

use super::{Trial, alternate, figure, ratios};
use crate::measure::Measurement;
use crate::peers::statsd::{self, Options};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "statsd-lines",
    what: "full datagrams of 86 lines, read and added up on one core, beside collectd",
    notes: "Datagrams are 1,432 bytes of counters, `ap.0000042:12|c`, with names in random order.\n\
        One core sends them in trains (`UDP_SEGMENT`) as fast as it can; all names are known \
        before a trial.\n\
        100 names fit a core's first cache, 10,000 its second; of a million each is a wait for \
        memory.\n\
        In every trial of Tidegate without `trains`, received and counted as dropped add up to \
        sent, to the datagram.\n\
        With `trains`, a dropped train counts once.\n\
        collectd has its statsd plugin alone; a million names are more than it is given time for.",
    peers: &["tidegate", "collectd"],
    run,
};

/// Lines of a datagram.
pub(crate) const LINES: usize = 86;
const CASES: [(usize, &str); 3] =
    [(100, "100 names"), (10_000, "10,000 names"), (1_000_000, "a million names")];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for (names, case) in CASES {
        let ours = statsd::tidegate(setup, &Options::default())?;
        let with_trains =
            Options { name: "Tidegate, `trains`", trains: true, ..Options::default() };
        let ours_trains = statsd::tidegate(setup, &with_trains)?;
        let collectd = if names < 1_000_000 { Some(statsd::collectd(setup)?) } else { None };
        let datagrams = datagrams(names, "c");
        let stop = Stop::After(Duration::from_secs(1));
        let target = ours.server.address;
        let blast = || Blast { in_trains: true, ..Blast::new(target, datagrams.clone(), stop) };
        let sides: Vec<_> = [&ours, &ours_trains].into_iter().chain(&collectd).collect();
        for side in &sides {
            learn(side, &datagrams)?;
        }
        let trials = alternate(setup.rounds.min(3), &sides, &blast)?;
        for (side, trials) in sides.iter().zip(&trials) {
            let name = format!("{case}, {}", side.server.name);
            let is_read = |trial: &Trial| trial.lines == trial.received * LINES as u64;
            let is_ours = side.server.name.starts_with("Tidegate");
            ensure!(!is_ours || trials.iter().all(is_read), "lines are missing");
            measurements.extend(describe(&name, names < 1_000_000, trials));
        }
        if collectd.is_some() {
            let values = ratios(&trials[0], &trials[2], Trial::rate);
            let name = format!("{case}, Tidegate / collectd");
            measurements.push(Measurement::new(name, "metrics/s, ratio", values));
        }
    }
    Ok(measurements)
}

fn describe(case: &str, has_target: bool, trials: &[Trial]) -> [Measurement; 3] {
    let lines = |of: fn(&Trial) -> f64| trials.iter().map(move |t| LINES as f64 * of(t));
    let rate = Measurement::new(case, "metrics/s", lines(Trial::rate));
    let by_cpu = Measurement::new(case, "metrics per CPU-second", lines(Trial::by_cpu));
    let rate = if has_target && case.contains("Tidegate") {
        rate.at_least(12e6, "at least 12 M, sought 20 M")
    } else {
        rate
    };
    [rate, by_cpu, figure(case, "received %", trials, Trial::share)]
}

/// Sends every name once, slowly enough that each arrives.
pub(crate) fn learn(side: &statsd::Statsd, datagrams: &[Vec<u8>]) -> Result<()> {
    let stop = Stop::Count(datagrams.len() as u64);
    let slowly = Blast::new(side.server.address, datagrams.to_vec(), stop);
    Trial::run(side, Blast { rate: Some(20_000.0), ..slowly }).map(drop)
}

/// Datagrams of 1,432 bytes with every name at least once, in random order.
pub(crate) fn datagrams(names: usize, kind: &str) -> Vec<Vec<u8>> {
    const LEAST: usize = 64;
    let count = names.div_ceil(LINES).max(LEAST);
    let mut order: Vec<usize> = (0..count * LINES).map(|at| at % names).collect();
    let mut random = Random::new(42);
    for at in (1..order.len()).rev() {
        order.swap(at, (random.fraction() * (at + 1) as f64) as usize);
    }
    let datagram = |names: &[usize]| {
        let line = |(at, name): (usize, &usize)| {
            // 57 lines of 16 bytes, 29 of 15, and line feeds between them; a kind of two letters
            // has a digit less.
            let digits = if at < 57 { 4 } else { 3 } - kind.len();
            let value = 10usize.pow(digits as u32 - 1) + name % 9;
            format!("ap.{name:07}:{value}|{kind}")
        };
        names.iter().enumerate().map(line).collect::<Vec<_>>().join("\n").into_bytes()
    };
    order.chunks(LINES).map(datagram).collect()
}
