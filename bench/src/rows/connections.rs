//! What a connection costs in memory: 10,000 idle ones and 1,000 that are used.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{IdleConnections, Plan, Request, Stop};

use super::Row;
use crate::measure::Measurement;
use crate::peers::{nginx, tidegate};
use crate::process::Server;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "connections",
    what: "memory per connection with 10,000 idle and 1,000 active ones, beside nginx",
    notes: "Every connection has made at least one request before it counts.\n\
        The figure is the growth of the resident memory of the server's process tree while all are \
        open, by connection.\n\
        The kernel's socket buffers are not in it.",
    peers: &["tidegate", "nginx"],
    run,
};

const IDLE: usize = 10_000;
const ACTIVE: usize = 1_000;
const PATH: &str = "/json/4096/article";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds.min(3) {
        let options = tidegate::Options {
            name: "Tidegate",
            journal: true,
            sections: tidegate::CACHE_ALL,
            ready: PATH,
        };
        let tidegate = tidegate::start(setup, &options)?.server;
        ours.push(fill(setup, &tidegate)?);
        drop(tidegate);
        let log = nginx::Options { log: true, ..Default::default() };
        theirs.push(fill(setup, &nginx::start(setup, "nginx", log)?)?);
    }
    let mut measurements = Vec::new();
    for (name, fills) in [("Tidegate", ours), ("nginx", theirs)] {
        let each = fills.iter().map(|fill| fill.bytes_each / 1e3);
        let each = Measurement::new(name, "KB per connection", each);
        measurements.push(match name {
            "Tidegate" => each.at_most(20.0, "at most 20 KB"),
            _ => each,
        });
        let rates = fills.iter().map(|fill| fill.rate);
        measurements.push(Measurement::new(name, "requests/s on the active ones", rates));
    }
    Ok(measurements)
}

struct Fill {
    bytes_each: f64,
    rate: f64,
}

fn fill(setup: &Setup, server: &Server) -> Result<Fill> {
    let mut request = Request::get(PATH).expect_status(200).template();
    // The allocator's and the cache's first growth is not what a connection costs.
    let warm = Plan::closed(server.target(), 64, Stop::After(Duration::from_millis(500)));
    load::run(&warm, &mut request)?;
    let before = server.rss_bytes();
    let idle =
        IdleConnections::open(&server.target(), IDLE, Duration::from_secs(10), &mut request)?;
    let plan = Plan::closed(server.target(), ACTIVE, Stop::After(setup.trial));
    // Memory is read while the active connections are open, too.
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| load::run(&plan, &mut request));
        let mut peak = 0;
        while !run.is_finished() {
            peak = peak.max(server.rss_bytes());
            std::thread::sleep(Duration::from_millis(100));
        }
        let report = run.join().expect("the load engine does not panic")?;
        Ok::<_, anyhow::Error>((report, peak))
    });
    let (report, peak) = report?;
    ensure!(report.is_clean(), "server `{}`: {:?}", server.name, report.errors);
    ensure!(idle.alive() == IDLE, "server `{}`: closed idle connections", server.name);
    let bytes = peak.saturating_sub(before) as f64;
    Ok(Fill { bytes_each: bytes / (IDLE + ACTIVE) as f64, rate: report.rate() })
}
