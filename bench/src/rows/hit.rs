//! Cached hits with recording on, beside nginx with its access log on.

use anyhow::Result;
use load::{Request, Requests};

use super::Row;
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64, describe};
use crate::origin::BODY_BYTES;
use crate::peers::{nginx, tidegate};
use crate::process::Server;
use crate::setup::Setup;
use crate::wrk;

pub(super) const ROW: Row = Row {
    name: "hit",
    what: "a cached hit of 4 KB, recording on, beside tuned nginx with its access log",
    notes: "Closed loop over 64 keep-alive connections.\n\
        nginx: one worker, sendfile off, open_file_cache, cache in memory, `access_log … combined \
        buffer=64k`.\n\
        Tidegate writes its full journal record of every exchange, synced every second.\n\
        Meanwhile it compresses full segments on the same core.",
    peers: &["tidegate", "nginx", "wrk"],
    run,
};

pub(super) const PATH: &str = "/json/4096/article";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = tidegate::Options {
        name: "Tidegate",
        journal: true,
        sections: tidegate::CACHE_ALL,
        ready: PATH,
    };
    let ours = tidegate::start(setup, &options)?.server;
    let nginx = nginx::start(setup, "nginx", nginx::Options { log: true, ..Default::default() })?;
    let sides = [side(&ours), side(&nginx)];
    let trials = alternate(setup.rounds, &sides, &closed_64(setup.trial))?;
    let mut measurements = describe("Tidegate", &trials[0]);
    measurements.extend(describe("nginx", &trials[1]));
    measurements.push(cpu_ratio("Tidegate / nginx", &trials[0], &trials[1]));
    measurements.extend(wrk::second_opinion(setup, &[&ours, &nginx], PATH)?);
    Ok(measurements)
}

/// A server asked for the same cached answer again and again.
pub(super) fn side(server: &Server) -> Side<'_> {
    let make = || {
        let request = Request::get(PATH).expect_status(200).expect_bytes(BODY_BYTES as u64);
        Box::new(request.template()) as Box<dyn Requests>
    };
    Side { name: server.name.clone(), server, requests: Box::new(make) }
}

fn cpu_ratio(case: &str, left: &[Trial], right: &[Trial]) -> Measurement {
    let ratios = by_round(left, right, |left, right| left.cpu.total_us() / right.cpu.total_us());
    Measurement::new(case, "CPU per hit, ratio", ratios).at_most(1.0, "at most 1.0, sought 0.75")
}
