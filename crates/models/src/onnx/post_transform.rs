//! Makes scores of sums: `post_transform` of the operators of ONNX-ML, as in ONNX Runtime's
//! ml_common.h.
//!
//! Invariant: scores of one row are changed in place, and no other row is looked at. `apply_to_any`
//! changes a single score by `PROBIT` alone; `apply` is for two or more.
//! Also here: the logistic and probit functions that classifiers of one sum use, and `narrow` for
//! sums of leaves. An unknown name is a problem of the node.
//! The transforms of LightGBM's and XGBoost's own files are in `trees/transform.rs`.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::trees::number::Leaf;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostTransform {
    None,
    Logistic,
    Softmax,
    /// The softmax of what is not zero; what is stays near zero.
    SoftmaxZero,
    Probit,
}

/// What is nearly zero for [`PostTransform::SoftmaxZero`].
const ZERO_MAX: f32 = 1e-7;

impl PostTransform {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        match from.text("post_transform", "NONE")? {
            "NONE" => Ok(Self::None),
            "LOGISTIC" => Ok(Self::Logistic),
            "SOFTMAX" => Ok(Self::Softmax),
            "SOFTMAX_ZERO" => Ok(Self::SoftmaxZero),
            "PROBIT" => Ok(Self::Probit),
            other => Err(from.problem("post_transform", &format!("`{other}` is not known"))),
        }
    }

    /// Transforms the scores of a row, as ONNX Runtime does: a single one by `PROBIT` alone.
    pub(super) fn apply_to_any(self, scores: &mut [f32]) {
        match (scores, self) {
            ([score], Self::Probit) => *score = probit(*score),
            ([_], _) => {}
            (scores, transform) => transform.apply(scores),
        }
    }

    /// Transforms the scores of a row, of which there are two or more.
    pub(super) fn apply(self, scores: &mut [f32]) {
        match self {
            Self::None => {}
            Self::Logistic => scores.iter_mut().for_each(|score| *score = logistic(*score)),
            Self::Probit => scores.iter_mut().for_each(|score| *score = probit(*score)),
            Self::Softmax => softmax(scores, |_| false),
            Self::SoftmaxZero => softmax(scores, |score| score.abs() <= ZERO_MAX),
        }
    }
}

/// `1 / (1 + exp(-x))`, without overflow on either side.
pub(super) fn logistic(score: f32) -> f32 {
    let share = 1.0 / (1.0 + (-score.abs()).exp());
    if score < 0.0 { 1.0 - share } else { share }
}

pub(super) fn probit(score: f32) -> f32 {
    std::f32::consts::SQRT_2 * inverse_erf(2.0 * score - 1.0)
}

/// Winitzki's approximation, as ONNX Runtime has it.
fn inverse_erf(x: f32) -> f32 {
    let sign = if x < 0.0 { -1.0 } else { 1.0 };
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let v = 2.0 / (std::f32::consts::PI * 0.147) + 0.5 * log;
    let v2 = 1.0 / 0.147 * log;
    sign * ((v * v - v2).sqrt() - v).sqrt()
}

fn softmax(scores: &mut [f32], is_zero: impl Fn(f32) -> bool) {
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        if is_zero(*score) {
            *score *= (-most).exp();
        } else {
            *score = (*score - most).exp();
            sum += *score;
        }
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// Returns a leaf's sum as a float.
pub(super) fn narrow<L: Leaf>(sum: L) -> f32 {
    sum.wide() as f32
}
