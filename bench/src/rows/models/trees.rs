//! Rows scored by 500 trees: all at once and one by one.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{scores, text};
use crate::contest::{self, Contestant, alternate, ratio};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "trees",
    what: "rows scored by 500 trees of 31 leaves over 50 numbers, 674 at once and one by one",
    notes: "A model that LightGBM trained, and rows of doubles; one thread each, CPU time of the \
        process.\n\
        Tidegate is `crates/models` in a program of its own.\n\
        LightGBM is its C functions (`LGBM_BoosterPredictForMat`, `…SingleRowFast`).\n\
        ONNX Runtime has its inputs and outputs bound; TL2cgen's C is compiled by gcc -O3.\n\
        All three are called from Python, which is some 1 µs of a row alone.\n\
        Scores must be LightGBM's; ONNX Runtime computes in floats.",
    peers: &["tidegate", "lightgbm", "onnxruntime", "tl2cgen"],
    run,
};

const OURS: &str = "Tidegate";

/// At least so many times as many rows per CPU-second.
const TARGETS: [(&str, f64); 2] = [("LightGBM", 3.0), ("ONNX Runtime", 1.5)];

/// Scores may differ so much from LightGBM's: ours in the last digit, others in floats.
const APART: [(&str, f64); 4] =
    [(OURS, 1e-14), ("LightGBM", 0.0), ("ONNX Runtime", 1e-5), ("TL2cgen", 1e-4)];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let made = ["trees.txt", "trees.onnx", "trees.rows", "trees.so"];
    let files = made.map(|name| setup.cached(name).map(|path| text(&path)));
    let [model, onnx, rows, library] = files;
    let (model, onnx, rows, library) = (model?, onnx?, rows?, library?);
    if !Path::new(&model).exists() {
        contest::script(setup, "make_trees.py", &[&model, &onnx, &rows])?;
    }
    let mut contestants = vec![
        Contestant::ours(setup, OURS, &["trees", &model, &rows])?,
        Contestant::python(setup, "LightGBM", "lightgbm_trees.py", &[&model, &rows])?,
        Contestant::python(setup, "ONNX Runtime", "onnx_trees.py", &[&onnx, &rows])?,
        Contestant::python(setup, "TL2cgen", "tl2cgen_trees.py", &[&model, &library, "50", &rows])?,
    ];
    check(setup, &mut contestants)?;
    let mut measurements = compare(setup, &mut contestants, "together", "674 at once")?;
    // TL2cgen's predictor takes no single rows without copying each into a matrix first.
    contestants.truncate(3);
    measurements.extend(compare(setup, &mut contestants, "alone", "one by one")?);
    Ok(measurements)
}

fn compare(
    setup: &Setup,
    contestants: &mut [Contestant],
    task: &str,
    how: &str,
) -> Result<Vec<Measurement>> {
    let done = alternate(setup.rounds, contestants, task, setup.trial.as_secs_f64() / 3.0)?;
    let mut measurements = Vec::new();
    for (contestant, done) in contestants.iter().zip(&done) {
        let case = format!("{}, {how}", contestant.name);
        let rates = done.iter().map(|done| done.rate());
        let rates = Measurement::new(&case, "rows per CPU-second", rates);
        measurements.push(if task == "together" { rates.drawn() } else { rates });
        let each = done.iter().map(|done| done.unit_us());
        measurements.push(Measurement::new(&case, "CPU µs per row", each));
    }
    for (contestant, theirs) in contestants.iter().zip(&done).skip(1) {
        let case = format!("{OURS} / {}, {how}", contestant.name);
        let ratio = ratio(&case, "rows per CPU-second", &done[0], theirs);
        let target = TARGETS.iter().find(|(name, _)| *name == contestant.name);
        measurements.push(match target {
            Some((_, least)) => ratio.at_least(*least, &format!("at least {least}")),
            None => ratio,
        });
    }
    Ok(measurements)
}

/// Whether all give LightGBM's scores.
fn check(setup: &Setup, contestants: &mut [Contestant]) -> Result<()> {
    let all = scores(setup, contestants)?;
    for ((scores, contestant), (name, most)) in all.iter().zip(contestants).zip(APART) {
        let pairs = scores.iter().zip(&all[1]);
        let apart = pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
        ensure!(contestant.name == name && scores.len() == all[1].len(), "`{name}` is another");
        ensure!(apart <= most, "scores of `{name}` are {apart:e} from LightGBM's");
    }
    Ok(())
}
