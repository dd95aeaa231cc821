//! Cached hits without logs, beside HAProxy, nginx and Varnish.

use anyhow::Result;

use super::{Row, hit};
use crate::measure::{Measurement, Side, alternate, by_round, closed_64, describe};
use crate::peers::{haproxy, nginx, tidegate, varnish};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "hit-nolog",
    what: "a cached hit of 4 KB without logs, beside HAProxy, nginx and Varnish",
    notes: "Closed loop over 64 keep-alive connections; nobody writes a log.\n\
        HAProxy runs one thread with its cache, nginx is tuned as in row `hit`.\n\
        Varnish always writes its log to shared memory, which nobody reads here.",
    peers: &["tidegate", "haproxy", "nginx", "varnish"],
    run,
};

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = tidegate::Options {
        name: "Tidegate",
        journal: false,
        sections: tidegate::CACHE_ALL,
        ready: "/json/4096/ready",
    };
    let servers = [
        tidegate::start(setup, &options)?.server,
        haproxy::start(setup, "HAProxy", haproxy::Options::default())?,
        nginx::start(setup, "nginx", nginx::Options::default())?,
        varnish::start(setup, "Varnish")?,
    ];
    let sides: Vec<Side<'_>> = servers.iter().map(hit::side).collect();
    let trials = alternate(setup.rounds, &sides, &closed_64(setup.trial))?;
    let mut measurements = Vec::new();
    for (side, trials) in sides.iter().zip(&trials) {
        measurements.extend(describe(&side.name, trials));
    }
    for (side, theirs) in sides.iter().zip(&trials).skip(1) {
        let ratios = by_round(&trials[0], theirs, |ours, theirs| {
            theirs.cpu.total_us() / ours.cpu.total_us()
        });
        let case = format!("Tidegate / {}", side.name);
        let ratio = Measurement::new(case, "requests per CPU-second, ratio", ratios);
        measurements.push(match side.name.as_str() {
            "HAProxy" => ratio.at_least(1.0, "at least 1.0, sought 1.3"),
            _ => ratio,
        });
    }
    Ok(measurements)
}
