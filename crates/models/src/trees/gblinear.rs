//! Reads XGBoost's linear booster (`gblinear`), and scores rows with it.
//!
//! Invariant: sums are floats, begin with the base score and the bias, and go on in the order of
//! features, as in XGBoost (`GBLinear::Pred`). Of base scores of several outputs, XGBoost adds the
//! first one to all. A missing value adds nothing. So margins are the library's to the bit.
//! A booster that was stopped early counts all its rounds, as XGBoost's interfaces do. Objectives
//! are those of `xgboost.rs`.
//! Refuses: weights that are not one for each feature and output, and one for each bias, or that
//! are not finite.

use super::document::ValueAt;
use super::number::{Leaf, Number};
use super::score::TreeOutput;
use super::scratch::TreeScratch;
use super::transform::OutputTransform;
use crate::error::Problem;
use crate::pause::pause;

/// A linear booster, ready to score.
#[derive(Debug)]
pub(super) struct LinearBooster {
    features: usize,
    /// For each feature a weight for each output.
    weights: Vec<f32>,
    /// What each sum begins with.
    base: Vec<f32>,
    transform: OutputTransform,
}

impl LinearBooster {
    /// Reads `gradient_booster`, where it is linear.
    pub(super) fn read(
        booster: &ValueAt<'_>,
        features: usize,
        mut base: Vec<f32>,
        transform: OutputTransform,
    ) -> Result<Self, Problem> {
        let model = booster.get("model")?;
        let node = model.get("weights")?;
        let mut weights = node.floats()?;
        let wanted = features.saturating_add(1).saturating_mul(base.len());
        if weights.len() != wanted {
            let reason = format!("holds {} numbers, must hold {wanted}", weights.len());
            return Err(node.problem(reason));
        }
        if !weights.iter().all(|weight| weight.is_finite()) {
            return Err(node.problem("holds a number that is not finite"));
        }
        let biases = weights.split_off(features * base.len());
        let first = base[0];
        base.iter_mut().zip(biases).for_each(|(base, bias)| *base = bias + first);
        Ok(Self { features, weights, base, transform })
    }

    /// Scores rows whose shape is right.
    pub(super) fn run<N: Number>(
        &self,
        wanted: TreeOutput,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) {
        let sums = &mut f32::parts(scratch).1.row;
        let outputs = match wanted {
            TreeOutput::Margins => self.base.len(),
            TreeOutput::Scores => self.transform.scores(self.base.len()),
        };
        for (row, out) in rows.chunks_exact(self.features).zip(out.chunks_exact_mut(outputs)) {
            pause();
            sums.clear();
            sums.extend(&self.base);
            for (value, weights) in row.iter().zip(self.weights.chunks_exact(self.base.len())) {
                let value = value.narrow();
                if !value.is_nan() {
                    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                }
            }
            match wanted {
                TreeOutput::Margins => {
                    out.iter_mut().zip(&*sums).for_each(|(out, sum)| *out = f64::from(*sum));
                }
                TreeOutput::Scores => self.finish(sums, out),
            }
        }
    }

    /// What the only sum of a row without values is.
    pub(super) fn bias(&self) -> f64 {
        f64::from(self.base[0])
    }

    /// Returns what each feature of a row adds to its only sum.
    pub(super) fn parts(&self, row: &[f64]) -> impl Iterator<Item = f64> {
        row.iter().zip(&self.weights).map(|(value, weight)| match value.narrow() {
            missing if missing.is_nan() => 0.0,
            value => f64::from(value * weight),
        })
    }

    /// Writes the scores of one row's sums.
    pub(super) fn finish(&self, sums: &[f32], out: &mut [f64]) {
        self.transform.apply(sums, out);
    }
}
