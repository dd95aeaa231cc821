//! Claims about keys that mean something to one kind of file.

use std::path::PathBuf;

use models::Iterations;

use super::load;
use crate::config::PredictorPlan;

fn plan(name: &str) -> PredictorPlan {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../models/golden/trees");
    PredictorPlan {
        name: "m".to_owned(),
        file: golden.join(name),
        version: None,
        golden: None,
        iterations: Iterations::All,
        rows_max: 10,
        concurrency: 1,
        queue_max: 0,
    }
}

#[test]
fn iterations_are_a_key_of_models_that_may_stop_early() {
    let inspected = load(&plan("xgb-stopped.json")).unwrap().to_string();
    assert!(inspected.contains("6  trees, objective") && !inspected.contains("do not count"));
    let best = PredictorPlan { iterations: Iterations::Best, ..plan("xgb-stopped.json") };
    let inspected = load(&best).unwrap().to_string();
    assert!(inspected.contains("2  trees, objective"), "{inspected}");
    assert!(inspected.contains("4  trees after `best_iteration`, which do not count"));
    let error = load(&plan("lgb-binary.txt")).unwrap_err().to_string();
    assert!(error.contains("lgb-binary.txt") && error.contains("`iterations`"), "{error}");
}
