//! The personalised path: cookie → profile → rank 674 × 50 → top 10.

use anyhow::Result;
use load::{Request, Requests, counter};

use super::Row;
use crate::measure::{Measurement, Side, alternate, closed_64, describe, poisson};
use crate::peers::tidegate;
use crate::process::Server;
use crate::ranking;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "personalised",
    what: "the personalised path: cookie → profile → rank 674 × 50 → top 10",
    notes: "100,000 users with profiles of 50 affinities take turns; recording is on, with \
        impressions.\n\
        The maximum is a closed loop over 64 keep-alive connections.\n\
        The latency is that of an open loop of random arrivals at 70 % of it, counted from the \
        intended time.",
    peers: &["tidegate"],
    run,
};

const USERS: usize = 100_000;
const PATH: &str = "/1/recommendations.json";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let ours = start(setup)?;
    let sides = [side(&ours.server)];
    let at_most = alternate(setup.rounds, &sides, &closed_64(setup.trial))?.remove(0);
    let mut measurements = describe("maximum", &at_most);
    let by_cpu = at_most.iter().map(|trial| 1e6 / trial.cpu.total_us());
    let by_cpu = Measurement::new("maximum", "requests per CPU-second", by_cpu);
    measurements.push(by_cpu.at_least(20e3, "at least 20 k"));
    let rates = at_most.iter().map(|trial| trial.rate);
    let rate_at_70 = 0.7 * Measurement::new("maximum", "requests/s", rates).value;
    let open = alternate(setup.rounds, &sides, &poisson(setup.trial, rate_at_70))?.remove(0);
    let case = "open loop at 70 %";
    for mut measurement in describe(case, &open) {
        if measurement.figure == "p99 µs" {
            measurement = measurement.at_most(3000.0, "below 3 ms");
        }
        measurements.push(measurement);
    }
    Ok(measurements)
}

/// Starts Tidegate with the ranking model and the users' profiles in use.
pub(super) fn start(setup: &Setup) -> Result<tidegate::Tidegate> {
    let data = ranking::write(setup)?;
    let profiles = ranking::write_profiles(&data, USERS)?;
    let sections = format!(
        "[[model]]\nname = \"ranking\"\nfile = \"{data}/model.json\"\nitems = \
        \"{data}/items.jsonl\"\nfields = [\"title\", \"category\"]\n\
         [profiles]\nfile = \"{profiles}\"\n\
         [[route]]\npath = \"/1/recommendations.{{format:json}}\"\nto = \"model:ranking\"\n\
         cache = {{ ttl = \"60s\" }}\n\
         personalise = {{ user = \"cookie:userId\", rollout = \"100%\" }}\n",
        data = data.display(),
        profiles = profiles.display(),
    );
    let options =
        tidegate::Options { name: "Tidegate", journal: true, sections: &sections, ready: PATH };
    let ours = tidegate::start(setup, &options)?;
    ours.wait_for_profiles(PATH, &format!("userId={}", ranking::user_id(0)))?;
    Ok(ours)
}

/// The users take turns.
pub(super) fn requests() -> Box<dyn Requests> {
    let request = Request::get(PATH)
        .header("Cookie", "theme=dark; userId=u########")
        .expect_status(200)
        .template()
        .hole("########", counter(0, USERS as u64));
    Box::new(request)
}

fn side(server: &Server) -> Side<'_> {
    Side { name: server.name.clone(), server, requests: Box::new(requests) }
}
