//! Items ranked by 500 trees, a request at a time.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{scores, text};
use crate::contest::{self, Contestant, alternate, ratio};
use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "rank-trees",
    what: "rankings of 674 items by 500 trees of 31 leaves over 50 columns, top 10",
    notes: "A ranker that LightGBM trained (`lambdarank`), over 42 columns of items and 8 that a \
        request changes; one thread each, CPU time of the process.\n\
        Tidegate is `crates/models` in a program of its own, which sets each request's features by \
        name.\n\
        LightGBM is its C function `LGBM_BoosterPredictForMat`, called from Python.\n\
        A request's columns are ready there, and are written into the rows; numpy finds the best.\n\
        The lists of both must be the same.",
    peers: &["tidegate", "lightgbm"],
    run,
};

const OURS: &str = "Tidegate";
const FIGURE: &str = "requests per CPU-second";

/// Requests that a core must answer at least.
const RATE_MIN: f64 = 300.0;
/// At least so many times as many as LightGBM.
const RATIO_MIN: f64 = 3.0;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let made = ["rank-trees.txt", "rank-trees.items", "rank-trees.requests"];
    let [model, items, requests] = made.map(|name| setup.cached(name).map(|path| text(&path)));
    let (model, items, requests) = (model?, items?, requests?);
    if !Path::new(&model).exists() {
        contest::script(setup, "make_rank_trees.py", &[&model, &items, &requests])?;
    }
    let mut contestants = vec![
        Contestant::ours(setup, OURS, &["rank", &model, &items, &requests])?,
        Contestant::python(setup, "LightGBM", "lightgbm_rank.py", &[&model, &items, &requests])?,
    ];
    let lists = scores(setup, &mut contestants)?;
    ensure!(lists[0] == lists[1], "the lists of both are not the same");
    let done = alternate(setup.rounds, &mut contestants, "rank", setup.trial.as_secs_f64() / 3.0)?;
    let mut measurements = Vec::new();
    for (contestant, done) in contestants.iter().zip(&done) {
        let rates = done.iter().map(|done| done.rate());
        let rates = Measurement::new(&contestant.name, FIGURE, rates).drawn();
        measurements.push(match contestant.name == OURS {
            true => rates.at_least(RATE_MIN, "at least 300"),
            false => rates,
        });
        let each = done.iter().map(|done| done.unit_us());
        measurements.push(Measurement::new(&contestant.name, "CPU µs per request", each));
    }
    let ratio = ratio(&format!("{OURS} / LightGBM"), FIGURE, &done[0], &done[1]);
    measurements.push(ratio.at_least(RATIO_MIN, "at least 3"));
    Ok(measurements)
}
