//! Tiny datagrams, plain and in trains, as many as one core sends.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use load::{Blast, Stop};

use super::{Trial, alternate, figure, ratios};
use crate::measure::Measurement;
use crate::peers::statsd::{self, Options};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "statsd-blaster",
    what: "tiny datagrams as fast as one core sends them, beside collectd and a bare loop",
    notes: "One socket sends `a:1|c` again and again.\n\
        It sends plainly by `sendmmsg`, or in trains of 64 that the kernel cuts (`UDP_SEGMENT`), \
        which is several times as fast.\n\
        A train is cut before the socket of the receiver, at the sender's expense.\n\
        A receiver that takes trains (`UDP_GRO`, setting `trains`) gets it whole.\n\
        In every trial of Tidegate without `trains`, received and counted as dropped add up to \
        sent, to the datagram.\n\
        With `trains`, a dropped train counts once.\n\
        Buffers are of 4 MB: a larger one, when it is full all the time, costs up to a third of \
        the rate.\n\
        It no longer fits the caches.\n\
        The bare loop receives as Tidegate does and looks at nothing.\n\
        Of collectd only the statsd plugin runs, with the system's default buffer: it has no \
        setting for it.",
    peers: &["tidegate", "collectd"],
    run,
};

/// What a system grants whose `net.core.rmem_max` is this.
const GRANTED: usize = 4 << 20;
const PAYLOAD: &[u8] = b"a:1|c";
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9);

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let granted = Options { buffer_bytes: Some(GRANTED), ..Options::default() };
    let ours = statsd::tidegate(setup, &granted)?;
    let with_trains = Options { name: "Tidegate, `trains`", trains: true, ..granted };
    let ours_trains = statsd::tidegate(setup, &with_trains)?;
    let collectd = statsd::collectd(setup)?;
    let bare = statsd::bare(setup, "bare loop", false)?;
    let bare_trains = statsd::bare(setup, "bare loop, `UDP_GRO`", true)?;

    let stop = Stop::After(Duration::from_secs(1));
    let plain = || Blast::new(NOWHERE, vec![PAYLOAD.to_vec(); 64], stop);
    let sides = [&ours, &collectd, &bare];
    let trials = alternate(setup.rounds, &sides, &plain)?;
    let mut measurements = Vec::new();
    for (side, trials) in sides.iter().zip(&trials) {
        measurements.extend(describe("plain", &side.server.name, trials));
    }

    let trains = || Blast { in_trains: true, ..Blast::new(NOWHERE, vec![PAYLOAD.to_vec()], stop) };
    let sides = [&ours, &ours_trains, &collectd, &bare, &bare_trains];
    let trials = alternate(setup.rounds, &sides, &trains)?;
    for (side, trials) in sides.iter().zip(&trials) {
        measurements.extend(describe("overloaded", &side.server.name, trials));
    }
    for (at, name) in [(0, "Tidegate"), (1, "Tidegate, `trains`")] {
        let values = ratios(&trials[at], &trials[2], Trial::rate);
        let case = format!("overloaded, {name} / collectd");
        let ratio = Measurement::new(case, "datagrams/s received, ratio", values);
        measurements.push(ratio.at_least(1.5, "at least 1.5"));
    }
    let values = ratios(&trials[0], &trials[3], Trial::by_cpu);
    let ceiling = Measurement::new("Tidegate / bare loop", "datagrams per CPU-second", values);
    measurements.push(ceiling);
    Ok(measurements)
}

fn describe(load: &str, name: &str, trials: &[Trial]) -> Vec<Measurement> {
    let case = format!("{load}, {name}");
    let is_ours = name.starts_with("Tidegate");
    let (share, rate) = (
        figure(&case, "received %", trials, Trial::share),
        figure(&case, "datagrams/s received", trials, Trial::rate),
    );
    let (share, rate) = match load {
        "plain" if is_ours => (share.at_least(100.0, "all"), rate),
        "overloaded" if is_ours => (share, rate.at_least(1.4e6, "at least 1.4 M")),
        _ => (share, rate),
    };
    let offered = figure(&case, "datagrams/s sent", trials, Trial::offered);
    vec![share, rate, offered, figure(&case, "datagrams per CPU-second", trials, Trial::by_cpu)]
}
