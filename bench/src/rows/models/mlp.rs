//! Rows scored by a small network: all at once and one by one.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{scores, text};
use crate::contest::{self, Contestant, alternate, ratio};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "mlp",
    what: "rows of 50 numbers scored by a network of two layers of 100, 674 at once and one by one",
    notes: "A network that scikit-learn trained and skl2onnx exported; floats, one thread each, \
        CPU time of the process.\n\
        Tidegate is `crates/models` in a program of its own.\n\
        ONNX Runtime has its inputs and outputs bound; Python calls it, some 1 µs a time.\n\
        Probabilities must be ONNX Runtime's within 1e-5.",
    peers: &["tidegate", "onnxruntime"],
    run,
};

const OURS: &str = "Tidegate";
const APART_MAX: f64 = 1e-5;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let (model, rows) = (text(&setup.cached("mlp.onnx")?), text(&setup.cached("mlp.rows")?));
    if !Path::new(&model).exists() {
        contest::script(setup, "make_mlp.py", &[&model, &rows])?;
    }
    let mut contestants = [
        Contestant::ours(setup, OURS, &["onnx", &model, &rows])?,
        Contestant::python(setup, "ONNX Runtime", "onnx_trees.py", &[&model, &rows])?,
    ];
    let all = scores(setup, &mut contestants)?;
    let pairs = all[0].iter().zip(&all[1]);
    let apart = pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    ensure!(all[0].len() == all[1].len(), "{} scores and {}", all[0].len(), all[1].len());
    ensure!(apart <= APART_MAX, "probabilities are {apart:e} from ONNX Runtime's");
    let mut measurements = Vec::new();
    for (task, how) in [("together", "674 at once"), ("alone", "one by one")] {
        let done =
            alternate(setup.rounds, &mut contestants, task, setup.trial.as_secs_f64() / 3.0)?;
        for (contestant, done) in contestants.iter().zip(&done) {
            let case = format!("{}, {how}", contestant.name);
            let rates = done.iter().map(|done| done.rate());
            measurements.push(Measurement::new(&case, "rows per CPU-second", rates));
        }
        let case = format!("{OURS} / {}, {how}", contestants[1].name);
        let ratio = ratio(&case, "rows per CPU-second", &done[0], &done[1]);
        measurements.push(ratio.at_least(1.0, "at least 1"));
    }
    Ok(measurements)
}
