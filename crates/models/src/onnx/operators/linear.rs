//! Computes `LinearRegressor` and `LinearClassifier` of ONNX-ML: products with constant
//! coefficients.
//!
//! Rows may be floats, doubles or integers. Sums are taken in doubles (`product.rs`), and scores
//! are floats. The label is that of the largest sum, the first of equal ones, before scores are
//! transformed. A linear classifier of one sum, and what becomes of scores, are as in ONNX Runtime
//! (linearclassifier.cc).
//! Refuses: rows of another width than the coefficients, and intercepts that are not one for each
//! output; a regressor may have none. Also `PROBIT` of two classes of one sum, of which ONNX
//! Runtime writes one score.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::labels::Labels;
use crate::onnx::numeric::Numeric;
use crate::onnx::post_transform::{PostTransform, logistic};
use crate::onnx::product::{Right, product};
use crate::onnx::tensor::{Data, Shape, Tensor};
use crate::trees::forest::OUTPUTS_MAX;

#[derive(Debug)]
pub(super) struct LinearRegressor {
    weights: LinearWeights,
    transform: PostTransform,
}

#[derive(Debug)]
pub(super) struct LinearClassifier {
    weights: LinearWeights,
    labels: Labels,
    transform: PostTransform,
}

/// Coefficients, an output after another for each feature, and intercepts.
#[derive(Debug)]
struct LinearWeights {
    features: usize,
    coefficients: Vec<f32>,
    intercepts: Vec<f32>,
}

impl LinearRegressor {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let targets = usize::try_from(from.integer("targets", 1)?).ok();
        let targets = targets.filter(|targets| (1..=OUTPUTS_MAX).contains(targets));
        let targets = targets.ok_or_else(|| from.problem("targets", "is no count of targets"))?;
        Ok(Self {
            weights: LinearWeights::read(from, targets)?,
            transform: PostTransform::read(from)?,
        })
    }
}

impl Operator for LinearRegressor {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let targets = self.weights.outputs();
        self.weights.sums(call, &mut out[0], targets)?;
        let Data::Floats(scores) = &mut out[0].data else { return Ok(()) };
        for scores in scores.chunks_exact_mut(targets) {
            self.transform.apply_to_any(scores);
        }
        Ok(())
    }
}

impl LinearClassifier {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let labels = Labels::read(from, "classlabels_ints", "classlabels_strings")?;
        let outputs = from.floats("intercepts")?.len();
        if outputs == 0 || (outputs != labels.len() && (outputs, labels.len()) != (1, 2)) {
            return Err(from.problem("intercepts", "are not one for each class"));
        }
        // It says how the model was trained.
        from.integer("multi_class", 0)?;
        let transform = PostTransform::read(from)?;
        if transform == PostTransform::Probit && (outputs, labels.len()) == (1, 2) {
            return Err(from.problem("post_transform", "`PROBIT` of one sum is not defined"));
        }
        let weights = LinearWeights::read(from, outputs)?;
        Ok(Self { weights, labels, transform })
    }
}

impl Operator for LinearClassifier {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let [labels, scores] = out;
        let (classes, outputs) = (self.labels.len(), self.weights.outputs());
        let rows = self.weights.sums(call, scores, classes)?;
        let Data::Floats(scores) = &mut scores.data else { return Ok(()) };
        let mut labels = self.labels.room(call, labels, rows)?;
        for (row, scores) in scores.chunks_exact_mut(classes).enumerate() {
            labels.write(row, class_of(&scores[..outputs], classes));
            match (scores, outputs) {
                ([first, second], 1) => (*first, *second) = self.pair(*first),
                (scores, _) => self.transform.apply_to_any(scores),
            }
        }
        Ok(())
    }
}

impl LinearClassifier {
    /// Makes the scores of two classes of one sum.
    fn pair(&self, sum: f32) -> (f32, f32) {
        match self.transform {
            PostTransform::Logistic => (logistic(-sum), logistic(sum)),
            _ => (1.0 - sum, sum),
        }
    }
}

impl LinearWeights {
    fn read(from: &Attributes<'_, '_>, outputs: usize) -> Result<Self, Problem> {
        let list = from.floats("coefficients")?;
        let intercepts = from.floats("intercepts")?;
        if list.is_empty() || !list.len().is_multiple_of(outputs) {
            return Err(from.problem("coefficients", "are no rows of one for each output"));
        }
        let features = list.len() / outputs;
        let turned = (0..list.len()).map(|at| list[at % outputs * features + at / outputs]);
        let coefficients = turned.collect();
        match intercepts.len() {
            0 => Ok(Self { features, coefficients, intercepts: vec![0.0; outputs] }),
            count if count == outputs => Ok(Self { features, coefficients, intercepts }),
            _ => Err(from.problem("intercepts", "are not one for each output")),
        }
    }

    fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// Writes the sums of each row to the beginning of its `width` scores.
    fn sums(
        &self,
        call: &mut OperatorCall<'_>,
        out: &mut Tensor,
        width: usize,
    ) -> Result<usize, String> {
        let value = call.input(0)?;
        let [rows, features] = *value.shape.sizes() else {
            return Err(format!("rows are wanted, not {}", value.shape));
        };
        if features != self.features {
            return Err(format!("rows of {} numbers are wanted, not {features}", self.features));
        }
        call.spend(rows.saturating_mul(self.coefficients.len()))?;
        let room = call.room::<f32>(out, Shape::of(&[rows, width]))?;
        match &value.data {
            Data::Floats(numbers) => self.write(numbers, room, width),
            Data::Doubles(numbers) => self.write(numbers, room, width),
            Data::Integers(numbers) => self.write(numbers, room, width),
            other => return Err(format!("{} are no numbers", other.plural())),
        }
        Ok(rows)
    }

    fn write<T: Numeric>(&self, rows: &[T], room: &mut [f32], width: usize) {
        let outputs = self.outputs();
        let right = Right {
            elements: &self.coefficients,
            sizes: [self.features, outputs],
            steps: [outputs, 1],
        };
        for (row, room) in rows.chunks_exact(self.features).zip(room.chunks_exact_mut(width)) {
            let first = |output| f64::from(self.intercepts[output]);
            product(row, right, first, |output, sum| room[output] = sum as f32);
        }
    }
}

/// The number of the class: of one sum, whether it is positive.
fn class_of(sums: &[f32], classes: usize) -> usize {
    if let [sum] = sums {
        return usize::from(*sum > 0.0).min(classes - 1);
    }
    let mut best = 0;
    for (class, sum) in sums.iter().enumerate() {
        if *sum > sums[best] {
            best = class;
        }
    }
    best
}
