//! Requests that are not cached, recording on, beside nginx with its access log on.

use anyhow::Result;
use load::{Request, Requests, counter};

use super::Row;
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64, describe};
use crate::origin::BODY_BYTES;
use crate::peers::{haproxy, nginx, tidegate};
use crate::process::Server;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "pass",
    what: "4 KB from the origin, not cached, recording on, beside nginx with its access log",
    notes: "Closed loop over 64 keep-alive connections.\n\
        Every request asks for another path and goes to the origin over a kept connection.\n\
        For nginx: one worker, `keepalive 64` to the origin, one buffer for the whole answer, no \
        cache.\n\
        Its log is `access_log … combined buffer=64k`.\n\
        Tidegate writes its full journal record of every exchange; the route has no `cache`.\n\
        HAProxy runs one thread with `http-reuse always` and writes no log: it is here as \
        information.",
    peers: &["tidegate", "nginx", "haproxy"],
    run,
};

/// A route that sends everything to the origin and caches nothing.
const PASS_ALL: &str = "
[[route]]
path = \"/{*rest}\"
to = \"upstream:origin\"
";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = tidegate::Options {
        name: "Tidegate",
        journal: true,
        sections: PASS_ALL,
        ready: "/json/4096/ready",
    };
    let log = nginx::Options { log: true, pass: true, ..Default::default() };
    let servers = [
        tidegate::start(setup, &options)?.server,
        nginx::start(setup, "nginx", log)?,
        haproxy::start(setup, "HAProxy", haproxy::Options { pass: true })?,
    ];
    let sides: Vec<Side<'_>> = servers.iter().map(side).collect();
    let trials = alternate(setup.rounds, &sides, &closed_64(setup.trial))?;
    let mut measurements = Vec::new();
    for (side, trials) in sides.iter().zip(&trials) {
        measurements.extend(describe(&side.name, trials));
    }
    let ratio = cpu_ratio("Tidegate / nginx", &trials[0], &trials[1]);
    measurements.push(ratio.at_most(1.0, "at most 1.0"));
    measurements.push(cpu_ratio("Tidegate / HAProxy", &trials[0], &trials[2]));
    Ok(measurements)
}

/// A server asked for an answer of 4 KB, each time under another path.
fn side(server: &Server) -> Side<'_> {
    let make = || {
        let request = Request::get("/json/4096/########");
        let request = request.expect_status(200).expect_bytes(BODY_BYTES as u64).template();
        Box::new(request.hole("########", counter(0, 99_999_999))) as Box<dyn Requests>
    };
    Side { name: server.name.clone(), server, requests: Box::new(make) }
}

fn cpu_ratio(case: &str, left: &[Trial], right: &[Trial]) -> Measurement {
    let ratios = by_round(left, right, |left, right| left.cpu.total_us() / right.cpu.total_us());
    Measurement::new(case, "CPU per request, ratio", ratios)
}
