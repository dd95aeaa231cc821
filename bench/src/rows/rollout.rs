//! What personalisation does to the origin, by the share of users let in.

use anyhow::{Result, ensure};
use load::{Mix, Plan, Request, Stop};

use super::Row;
use crate::measure::Measurement;
use crate::peers::tidegate;
use crate::ranking;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "rollout",
    what: "origin requests and hit ratio by rollout share",
    notes: "50,000 requests for 40 generic variants; half of them are anonymous.\n\
        The others come from 100,000 readers whose activity follows Zipf's law (exponent 1); every \
        second reader has a profile.\n\
        Users are let in whole, and few users make most requests.\n\
        So the share of requests differs from the share of users.\n\
        A personalised answer comes from the origin and is not stored.\n\
        The last line shows, by count, every request with a user id going to the origin, as \
        without a decision at the edge.",
    peers: &["tidegate"],
    run,
};

const REQUESTS: u64 = 50_000;
const READERS: usize = 100_000;
const VARIANTS: u64 = 40;
const PATH: &str = "/1/recommendations.json";

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let profiles = setup.dir("rollout")?.join("profiles.db");
    let with_profile = (0..READERS).step_by(2).map(|reader| {
        (ranking::user_id(reader), r#"{"affinity":{"b":1.0},"reads":5,"recent":[]}"#.to_owned())
    });
    ranking::write_database(&profiles, with_profile)?;
    let mut fetches = Vec::new();
    for percent in [0, 1, 5, 10, 100] {
        fetches.push((percent, serve(setup, &profiles, percent)?));
    }
    let base = fetches[0].1.max(1) as f64;
    let mut measurements = Vec::new();
    for (percent, fetches) in fetches {
        let case = format!("rollout {percent} %");
        let fetches = fetches as f64;
        let one = |figure: &str, value: f64| Measurement::new(&case, figure, [value]);
        measurements.push(one("origin requests", fetches));
        measurements.push(one("hit ratio %", 100.0 * (1.0 - fetches / REQUESTS as f64)));
        measurements.push(one("× the origin requests at 0 %", fetches / base));
    }
    let by_hand = REQUESTS as f64 / 2.0 + VARIANTS as f64;
    let case = "no decision at the edge";
    measurements.push(Measurement::new(case, "origin requests", [by_hand]));
    measurements.push(Measurement::new(case, "× the origin requests at 0 %", [by_hand / base]));
    Ok(measurements)
}

/// Returns how many of the requests reached the origin.
fn serve(setup: &Setup, profiles: &std::path::Path, percent: u32) -> Result<u64> {
    let sections = format!(
        "[profiles]\nfile = \"{}\"\n\
         [[route]]\npath = \"/1/recommendations.{{format:json}}\"\nto = \"upstream:origin\"\n\
         cache = {{ ttl = \"1h\" }}\n\
         personalise = {{ user = \"cookie:userId\", rollout = \"{percent}%\", salt = \"bench\" \
         }}\n",
        profiles.display()
    );
    let options =
        tidegate::Options { name: "Tidegate", journal: true, sections: &sections, ready: PATH };
    let ours = tidegate::start(setup, &options)?;
    if percent == 100 {
        ours.wait_for_profiles(PATH, &format!("userId={}", ranking::user_id(0)))?;
    }
    let before = setup.origin.fetches();
    let plan = Plan::closed(ours.server.target(), 64, Stop::Count(REQUESTS));
    let report = load::run(&plan, &mut readers())?;
    ensure!(report.is_clean(), "rollout {percent} %: {:?}", report.errors);
    Ok(setup.origin.fetches() - before)
}

fn readers() -> Mix {
    let get = || Request::get("/1/recommendations.json?country=CC").expect_status(200);
    let mut activity = Zipf::new(READERS, 1);
    let reader = get().header("Cookie", "userId=u########").template();
    Mix::new([
        (1, get().template().hole("CC", country(2))),
        (1, reader.hole("CC", country(3)).hole("########", move || activity.draw())),
    ])
}

fn country(seed: u64) -> impl FnMut() -> u64 + Send + 'static {
    let mut countries = Zipf::new(VARIANTS as usize, seed);
    move || countries.draw()
}

/// Draws numbers below `count`, n with a probability proportional to 1 / (n + 1).
struct Zipf {
    // Cumulative, unnormalised.
    weights: Vec<f64>,
    state: u64,
}

impl Zipf {
    fn new(count: usize, seed: u64) -> Self {
        let mut total = 0.0;
        let weights = (1..=count).map(|rank| {
            total += 1.0 / rank as f64;
            total
        });
        Self { weights: weights.collect(), state: seed }
    }

    fn draw(&mut self) -> u64 {
        // Knuth's MMIX generator; its high bits are good enough to draw readers with.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.state >> 11) as f64 / (1u64 << 53) as f64;
        let total = self.weights.last().copied().unwrap_or(1.0);
        self.weights.partition_point(|weight| *weight <= unit * total) as u64
    }
}
