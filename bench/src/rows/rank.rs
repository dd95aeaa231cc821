//! Ranking by candidate set and by 674 ids in the body, beside two services in Python.

use anyhow::Result;
use load::{Request, Requests};
use serde_json::json;

use super::Row;
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64};
use crate::peers::{python, tidegate};
use crate::process::Server;
use crate::ranking;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "rank",
    what: "rank 674 candidates of 50 features, top 10, beside FastAPI with numpy and plain",
    notes: "Closed loop over 64 keep-alive connections; every request carries the user's 50 \
        affinities.\n\
        All 674 × 50 products depend on the request; none can be worked out before it.\n\
        The Python services are in `bench/peers`: one uvicorn worker with uvloop and httptools \
        each.",
    peers: &["tidegate", "python"],
    run,
};

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let data = ranking::write(setup)?;
    let sections = format!(
        "
[[model]]
name = \"ranking\"
file = \"{data}/model.json\"
items = \"{data}/items.jsonl\"
fields = [\"title\", \"category\"]
candidates = [{{ name = \"all\" }}]

[[route]]
path = \"/1/recommendations.{{format:json}}\"
to = \"model:ranking\"

[[route]]
path = \"/v1/models/{{model}}/rank\"
methods = [\"POST\"]
to = \"models\"
",
        data = data.display()
    );
    let options = tidegate::Options {
        name: "Tidegate",
        journal: false,
        sections: &sections,
        ready: "/1/recommendations.json",
    };
    let ours = tidegate::start(setup, &options)?.server;
    let numpy = python::start(setup, "numpy", "numpy_ranker", &data)?;
    let plain = python::start(setup, "plain", "plain_ranker", &data)?;
    let rank = "/v1/models/ranking/rank";
    let cases = [
        side("Tidegate, candidate set", &ours, rank, false),
        side("Tidegate, 674 ids", &ours, rank, true),
        side("FastAPI + numpy, candidate set", &numpy, "/rank", false),
        side("FastAPI + numpy, 674 ids", &numpy, "/rank", true),
        side("plain Python, candidate set", &plain, "/rank", false),
    ];
    let trials = alternate(setup.rounds, &cases, &closed_64(setup.trial))?;
    let mut measurements = Vec::new();
    for (case, trials) in cases.iter().zip(&trials) {
        let by_cpu = Measurement::new(&case.name, BY_CPU, trials.iter().map(by_cpu));
        measurements.push(match case.name.as_str() {
            "Tidegate, candidate set" => by_cpu.at_least(30e6, "at least 30 M"),
            "Tidegate, 674 ids" => by_cpu.at_least(13e6, "at least 13 M"),
            _ => by_cpu,
        });
        let rates = trials.iter().map(|trial| trial.rate * ranking::ITEMS as f64);
        measurements.push(Measurement::new(&case.name, "predictions/s", rates));
        measurements.push(Measurement::new(&case.name, "p99 µs", trials.iter().map(|t| t.p99_us)));
    }
    let ratio = |ours: usize, theirs: usize, name: &str| {
        let of = |ours: &Trial, theirs: &Trial| by_cpu(ours) / by_cpu(theirs);
        let ratios = by_round(&trials[ours], &trials[theirs], of);
        Measurement::new(name, "predictions per CPU-second, ratio", ratios)
    };
    measurements.push(ratio(0, 2, "set: Tidegate / numpy").at_least(3.0, "at least 3"));
    measurements.push(ratio(1, 3, "674 ids: Tidegate / numpy").at_least(3.0, "at least 3"));
    measurements.push(ratio(0, 4, "set: Tidegate / plain").at_least(35.0, "at least 35"));
    Ok(measurements)
}

const BY_CPU: &str = "predictions per CPU-second";

fn by_cpu(trial: &Trial) -> f64 {
    ranking::ITEMS as f64 * 1e6 / trial.cpu.total_us()
}

fn side<'a>(name: &str, server: &'a Server, path: &'static str, with_ids: bool) -> Side<'a> {
    let make = move || {
        let candidates = if with_ids { ranking::ids() } else { json!("all") };
        let user = json!({ "affinity": ranking::affinity(1) });
        let body = json!({ "candidates": candidates, "user": user, "limit": 10 });
        let request = Request::post_json(path, body.to_string()).expect_status(200);
        Box::new(request.template()) as Box<dyn Requests>
    };
    Side { name: name.to_owned(), server, requests: Box::new(make) }
}
