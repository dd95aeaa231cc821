//! What a user id without a profile costs on a cached hit, with five million profiles loaded.

use anyhow::Result;
use load::{Request, Requests, counter};

use super::Row;
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64, describe};
use crate::origin::BODY_BYTES;
use crate::peers::tidegate;
use crate::process::Server;
use crate::ranking;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "no-profile",
    what: "a cached hit that carries a user id without profile, 5 M profiles loaded",
    notes: "Closed loop over 64 keep-alive connections, recording on; both sides ask the same \
        server.\n\
        The user ids, 24 bytes in a cookie, come from 100 million that are not in the file.",
    peers: &["tidegate"],
    run,
};

const PROFILES: u64 = 5_000_000;
/// So many times more and shorter rounds: a small difference needs neighbours in time.
const FINER: u32 = 6;
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
    let sides =
        [side(&ours.server, None), side(&ours.server, Some("session")), side(&ours.server, USER)];
    let plan = closed_64(setup.trial / FINER);
    let trials = alternate(setup.rounds * FINER as usize, &sides, &plan)?;
    let mut measurements = Vec::new();
    for (side, trials) in sides.iter().zip(&trials) {
        measurements.extend(describe(&side.name, trials));
    }
    let more = |case: &str, with: usize, without: usize| {
        let of = |with: &Trial, without: &Trial| with.cpu.total_us() - without.cpu.total_us();
        let more = by_round(&trials[with], &trials[without], of);
        Measurement::new(case, "CPU µs per hit, more", more)
    };
    let extra = more("user id without profile − anonymous", 2, 0);
    measurements.push(extra.at_most(0.5, "at most 0.5"));
    measurements.push(more("of it the decision: − a cookie of another name", 2, 1));
    Ok(measurements)
}

const USER: Option<&str> = Some("userId");

/// A client without cookie, or with one of this name whose value has no profile.
fn side<'a>(server: &'a Server, cookie: Option<&'static str>) -> Side<'a> {
    let make = move || {
        let request = Request::get(PATH).expect_status(200).expect_bytes(BODY_BYTES as u64);
        let template = match cookie {
            // A letter of these ids differs from those in the file.
            Some(name) => request
                .header("Cookie", &format!("{name}=aaaaaaaaaaaaaaax########"))
                .template()
                .hole("########", counter(0, 100_000_000)),
            None => request.template(),
        };
        Box::new(template) as Box<dyn Requests>
    };
    let name = match cookie {
        USER => "user id without profile",
        Some(_) => "a cookie of another name",
        None => "anonymous",
    };
    Side { name: name.to_owned(), server, requests: Box::new(make) }
}

fn row(user: u64) -> (String, String) {
    (id(user), r#"{"affinity":{"b":1.0},"reads":5,"recent":[]}"#.to_owned())
}

fn id(user: u64) -> String {
    format!("aaaaaaaaaaaaaaaa{user:08}")
}
