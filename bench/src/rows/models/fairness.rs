//! A light model beside a heavy one, on one work thread.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use load::{Arrivals, Mix, Plan, Report, Request, Stop};
use serde_json::{Value, json};

use super::{headlines, minilm_dir};
use crate::measure::Measurement;
use crate::peers::tidegate::{self, Tidegate};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "fairness",
    what: "a light model beside a heavy one, which share a work thread",
    notes: "The heavy one is all-MiniLM-L6-v2, asked over 16 connections for 256 headlines each, \
        none of them remembered.\n\
        The light one is linear and predicts 674 rows of 50 floats, 50 times a second at random.\n\
        The edge thread shares the core with the work thread.",
    peers: &["tidegate"],
    run,
};

const HEAVY_CONNECTIONS: usize = 16;
const TEXTS: usize = 256;
/// Bodies of the heavy model that differ: more than are asked for at once.
const BODIES: usize = 24;
const LIGHT_RATE: f64 = 50.0;
/// Before the first answer the heavy model has a queue of all that is asked.
const RAMP: Duration = Duration::from_secs(2);

/// Where the id of a request goes, and the next one.
const ID: &str = "iiiiiiiiiiii";
static NEXT: AtomicU64 = AtomicU64::new(0);

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let ours = start(setup)?;
    let bodies = bodies(setup)?;
    let (mut alone, mut beside, mut heavy_alone, mut heavy_beside) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setup.rounds {
        alone.push(light(setup, &ours, setup.trial)?);
        heavy_alone.push(heavy(&ours, &bodies, setup.trial + RAMP)?);
        let both = thread::scope(|scope| {
            let heavy = scope.spawn(|| heavy(&ours, &bodies, setup.trial + 2 * RAMP));
            thread::sleep(RAMP);
            let light = light(setup, &ours, setup.trial);
            let heavy = heavy.join().map_err(|_| anyhow!("the heavy load panicked"))?;
            anyhow::Ok((light?, heavy?))
        })?;
        beside.push(both.0);
        heavy_beside.push(both.1);
    }
    let p99 = |report: &Report| report.latency.value_at_quantile(0.99) as f64 / 1e3;
    let ratios: Vec<f64> = alone.iter().zip(&beside).map(|(a, b)| p99(b) / p99(a)).collect();
    let times =
        |case: &str, reports: &[Report]| Measurement::new(case, "p99 ms", reports.iter().map(p99));
    let texts = |case: &str, reports: &[Report]| {
        let rates = reports.iter().map(|report| report.rate() * TEXTS as f64);
        Measurement::new(case, "texts/s", rates)
    };
    Ok(vec![
        times("light, alone", &alone),
        times("light, beside heavy", &beside),
        Measurement::new("light, beside heavy / alone", "p99, ratio", ratios)
            .at_most(10.0, "at most 10"),
        texts("heavy, alone", &heavy_alone),
        texts("heavy, beside light", &heavy_beside),
    ])
}

fn start(setup: &Setup) -> Result<Tidegate> {
    let file = setup.dir("fairness")?.join("line.json");
    let features: Vec<Value> =
        (0..50).map(|index| json!({"name": format!("item.f{index}"), "weight": 0.5})).collect();
    let model = json!({
        "format": "tidegate-linear-1", "name": "line", "version": "1", "intercept": 1.0,
        "features": features,
    });
    fs::write(&file, model.to_string())?;
    let sections = format!(
        "[[model]]\nname = \"line\"\nfile = \"{}\"\n\
         [[model]]\nname = \"mini\"\nfile = \"{}\"\nembedding_cache_bytes_max = \"0B\"\n\
         [limits]\nclient_share = \"100%\"\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"models\"\n\
         lease = \"2m\"\nwait_timeout = \"2m\"\n",
        file.display(),
        minilm_dir(setup)?.display(),
    );
    let options = tidegate::Options {
        name: "Tidegate",
        journal: false,
        sections: &sections,
        ready: "/v2/health/ready",
    };
    tidegate::start(setup, &options)
}

/// Requests to the heavy model, none with a text of another.
fn bodies(setup: &Setup) -> Result<Vec<Request>> {
    let titles = fs::read_to_string(headlines(setup, 1000)?.0)?;
    let titles: Vec<&str> = titles.lines().collect();
    ensure!(titles.len() >= TEXTS, "only {} headlines", titles.len());
    let body = |number: usize| {
        let texts: Vec<String> = (0..TEXTS)
            .map(|at| format!("{number} {}", titles[(number * 37 + at) % titles.len()]))
            .collect();
        let body = json!({"model": "mini", "input": texts, "encoding_format": "base64"});
        Request::post_json("/v1/embeddings", body.to_string()).expect_status(200)
    };
    Ok((0..BODIES).map(body).collect())
}

fn heavy(ours: &Tidegate, bodies: &[Request], time: Duration) -> Result<Report> {
    let mut requests = Mix::new(bodies.iter().map(|body| (1, body.clone().template())));
    let plan = Plan::closed(ours.server.target(), HEAVY_CONNECTIONS, Stop::After(time));
    checked(load::run(&plan, &mut requests)?)
}

fn light(setup: &Setup, ours: &Tidegate, time: Duration) -> Result<Report> {
    let rows: Vec<Vec<f64>> =
        (0..674).map(|row| (0..50).map(|at| f64::from(row * 50 + at) / 1e5).collect()).collect();
    let input = json!({"name": "input", "shape": [674, 50], "datatype": "FP32", "data": rows});
    let body = json!({"id": ID, "inputs": [input]}).to_string();
    let request = Request::post_json("/v2/models/line/infer", body).expect_status(200).template();
    let mut request = request.hole(ID, || NEXT.fetch_add(1, Ordering::Relaxed));
    let arrivals = Arrivals::Poisson { rate: LIGHT_RATE, seed: setup.rounds as u64 };
    let plan = Plan::open(ours.server.target(), arrivals, 16, Stop::After(time));
    checked(load::run(&plan, &mut request)?)
}

fn checked(report: Report) -> Result<Report> {
    let status = report.statuses().find(|(status, _)| *status != 200);
    ensure!(status.is_none(), "an answer has status {status:?}");
    Some(report).filter(Report::is_clean).context("a request got no answer")
}
