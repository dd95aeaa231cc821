//! Predictions by the Open Inference Protocol: 674 rows of 50 floats a request, a linear model.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use load::{Request, Requests};
use serde_json::{Value, json};

use crate::measure::{Measurement, Side, Trial, alternate, closed_64};
use crate::peers::tidegate;
use crate::ranking::{FEATURES, ITEMS};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "oip",
    what: "predict 674 rows of 50 floats by the Open Inference Protocol, a linear model",
    notes: "Closed loop over 64 keep-alive connections, one edge thread.\n\
        A body in JSON has some 320 kB, with floats of six digits.\n\
        A body with a binary tensor, as `tritonclient` sends it, has 135 kB.\n\
        The time includes reading the body.\n\
        Every request has another id, so no answer is a remembered one.",
    peers: &["tidegate"],
    run,
};

const PATH: &str = "/v2/models/line/infer";
const BY_CPU: &str = "predictions per CPU-second";

/// Where the id of a request goes, and the next one.
const ID: &str = "iiiiiiiiiiii";
static NEXT: AtomicU64 = AtomicU64::new(0);

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let dir = setup.dir("oip")?;
    let file = dir.join("line.json");
    let feature = |index: usize| json!({"name": format!("item.f{index}"), "weight": value(index)});
    let features: Vec<Value> = (0..FEATURES).map(feature).collect();
    let model = json!({
        "format": "tidegate-linear-1", "name": "line", "version": "1", "intercept": 1.0,
        "features": features,
    });
    fs::write(&file, model.to_string())?;
    let sections = format!(
        "[[model]]\nname = \"line\"\nfile = \"{}\"\n[[route]]\npath = \"/v2/{{*rest}}\"\n\
         to = \"models\"\n",
        file.display()
    );
    let options = tidegate::Options {
        name: "Tidegate",
        journal: false,
        sections: &sections,
        ready: "/v2/health/ready",
    };
    let ours = tidegate::start(setup, &options)?.server;
    let side = |name: &str, request: fn() -> Request| Side {
        name: name.to_owned(),
        server: &ours,
        requests: Box::new(move || {
            let template = request().expect_status(200).template();
            Box::new(template.hole(ID, || NEXT.fetch_add(1, Ordering::Relaxed)))
                as Box<dyn Requests>
        }),
    };
    let cases = [side("Tidegate, JSON", in_json), side("Tidegate, binary tensors", in_binary)];
    let trials = alternate(setup.rounds, &cases, &closed_64(setup.trial))?;
    let mut measurements = Vec::new();
    for (case, trials) in cases.iter().zip(&trials) {
        let by_cpu = Measurement::new(&case.name, BY_CPU, trials.iter().map(by_cpu));
        measurements.push(by_cpu.at_least(1.5e6, "at least 1.5 M"));
        let rates = trials.iter().map(|trial| trial.rate * ITEMS as f64);
        measurements.push(Measurement::new(&case.name, "predictions/s", rates));
    }
    Ok(measurements)
}

fn by_cpu(trial: &Trial) -> f64 {
    ITEMS as f64 * 1e6 / trial.cpu.total_us()
}

/// A number of six digits between -1 and 1.
fn value(index: usize) -> f64 {
    let mixed = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    // One division, so that six digits say it.
    ((mixed % 2_000_001) as f64 - 1e6) / 1e6
}

fn in_json() -> Request {
    let rows: Vec<Vec<f64>> = (0..ITEMS)
        .map(|row| (0..FEATURES).map(|column| value(row * FEATURES + column + 1000)).collect())
        .collect();
    let input = json!({"name": "input", "shape": [ITEMS, FEATURES], "datatype": "FP32",
                       "data": rows});
    Request::post_json(PATH, json!({ "id": ID, "inputs": [input] }).to_string())
}

fn in_binary() -> Request {
    let size = ITEMS * FEATURES * 4;
    let input = json!({"name": "input", "shape": [ITEMS, FEATURES], "datatype": "FP32",
                       "parameters": {"binary_data_size": size}});
    let outputs = json!([{"name": "predict", "parameters": {"binary_data": true}}]);
    let head = json!({ "id": ID, "inputs": [input], "outputs": outputs }).to_string();
    let length = head.len().to_string();
    let mut body = head.into_bytes();
    for index in 0..ITEMS * FEATURES {
        body.extend_from_slice(&(value(index + 1000) as f32).to_le_bytes());
    }
    Request::post_json(PATH, body).header("inference-header-content-length", &length)
}
