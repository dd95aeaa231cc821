//! What a user id without a profile costs on a cached hit, with five million profiles loaded.

use anyhow::Result;
use load::{Request, Requests, counter};

use super::Row;
use crate::measure::{Measurement, Side, alternate, by_round, closed_64, describe};
use crate::origin::BODY_BYTES;
use crate::peers::tidegate;
use crate::process::Server;
use crate::ranking;
use crate::setup::Setup;

pub const ROW: Row = Row {
    name: "no-profile",
    what: "a cached hit that carries a user id without profile, 5 M profiles loaded",
    notes: "Closed loop over 64 keep-alive connections, recording on; both sides ask the same \
        server.\n\
        The user ids, 24 bytes in a cookie, come from 100 million that are not in the file.",
    peers: &["tidegate"],
    run,
};

const PROFILES: u64 = 5_000_000;
const PATH: &str = "/1/recommendations.json";
const SECTIONS: &str = "
[[route]]
path = \"/1/recommendations.{format:json}\"
to = \"upstream:origin\"
cache = { ttl = \"1h\" }
personalise = { user = \"cookie:userId\", rollout = \"100%\" }
";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let profiles = setup.cached("profiles-5m.db")?;
    if !profiles.exists() {
        let unfinished = profiles.with_extension("unfinished");
        // Left by a run that was interrupted; if there is none, there is nothing to remove.
        let _ = std::fs::remove_file(&unfinished);
        ranking::write_database(&unfinished, (0..PROFILES).map(row))?;
        std::fs::rename(&unfinished, &profiles)?;
    }
    let sections = format!("{SECTIONS}\n[profiles]\nfile = \"{}\"\n", profiles.display());
    let options =
        tidegate::Options { name: "Tidegate", journal: true, sections: &sections, ready: PATH };
    let ours = tidegate::start(setup, &options)?;
    ours.wait_for_profiles(PATH, &format!("userId={}", id(0)))?;
    let sides = [side("anonymous", &ours.server, false), side("no profile", &ours.server, true)];
    let trials = alternate(setup, &sides, &closed_64(setup))?;
    let mut measurements = describe("anonymous", &trials[0]);
    measurements.extend(describe("user id without profile", &trials[1]));
    let extra = by_round(&trials[1], &trials[0], |with, without| {
        with.cpu.total_us() - without.cpu.total_us()
    });
    let case = "user id without profile − anonymous";
    measurements
        .push(Measurement::new(case, "CPU µs per hit, more", extra).at_most(0.5, "at most 0.5"));
    Ok(measurements)
}

fn side<'a>(name: &str, server: &'a Server, with_user: bool) -> Side<'a> {
    let make = move || {
        let request = Request::get(PATH).expect_status(200).expect_bytes(BODY_BYTES as u64);
        let template = match with_user {
            // Their letter differs from that of the ids in the file.
            true => request
                .header("Cookie", "userId=aaaaaaaaaaaaaaax########")
                .template()
                .hole("########", counter(0, 100_000_000)),
            false => request.template(),
        };
        Box::new(template) as Box<dyn Requests>
    };
    Side { name: name.to_owned(), server, requests: Box::new(make) }
}

fn row(user: u64) -> (String, String) {
    (id(user), r#"{"affinity":{"b":1.0},"reads":5,"recent":[]}"#.to_owned())
}

fn id(user: u64) -> String {
    format!("aaaaaaaaaaaaaaaa{user:08}")
}
