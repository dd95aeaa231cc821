//! Lists what the test of exposure compares: the slow-downs of each step, and those that its time
//! would get.
//!
//! The time is the step's exposure (`slowdowns.rs`). A step that a verdict blames is held against
//! the rate of all steps, which convicted it. The others are held against their own rate, as if the
//! blamed were not there.
//! Invariant: expected slow-downs of the steps that are not blamed add up to those seen there. The
//! interval of a ratio is exact for a Poisson number (Garwood 1936); the rate counts as known.
//! Never here: who is blamed, which `steps.rs` decides.

use serde::{Deserialize, Serialize};

use crate::count_tests::poisson_interval;
use crate::verdict::Verdict;

use super::columns::StepColumn;
use super::slowdowns::Slowdowns;

/// How often a step was slowed down, and how often its time explains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepExposure {
    /// The step.
    pub step: String,
    /// Calls in which it was slowed down.
    pub slowdowns: u64,
    /// Its part of the time of all steps, slow-downs left out.
    pub time_share: f64,
    /// Slow-downs that its time would get: at the rate of all steps if it is blamed, otherwise at
    /// that of the steps that are not.
    pub expected: f64,
    /// 95 % interval of the ratio of both; absent where none are expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_ci: Option<[f64; 2]>,
}

/// Compares each step's slow-downs with those that its time would get.
pub(super) fn exposures(
    columns: &[StepColumn<'_>],
    found: &Slowdowns,
    verdicts: &[Verdict],
) -> Vec<StepExposure> {
    let is_blamed = |name: &str| {
        let is = |verdict: &Verdict| matches!(verdict, Verdict::Step(step) if step.step == name);
        verdicts.iter().any(is)
    };
    let whole: f64 = found.exposures_ms.iter().sum();
    let rate = |with_blamed: bool| {
        let (mut slowdowns, mut time) = (0, 0.0);
        for (at, step) in columns.iter().enumerate() {
            if with_blamed || !is_blamed(step.name) {
                slowdowns += found.counts[at];
                time += found.exposures_ms[at];
            }
        }
        if time > 0.0 { slowdowns as f64 / time } else { 0.0 }
    };
    let [others, all] = [false, true].map(rate);
    let counted = found.counts.iter().zip(&found.exposures_ms);
    let compared = columns.iter().zip(counted).map(|(step, (count, exposure))| {
        let expected = exposure * if is_blamed(step.name) { all } else { others };
        StepExposure {
            step: step.name.to_owned(),
            slowdowns: *count,
            time_share: exposure / whole,
            expected,
            ratio_ci: (expected > 0.0)
                .then(|| poisson_interval(*count).map(|bound| bound / expected)),
        }
    });
    compared.collect()
}
