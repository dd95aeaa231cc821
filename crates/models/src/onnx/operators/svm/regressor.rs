//! Computes `SVMRegressor` of ONNX-ML: the weighted sum of kernels, or for one class its sign.
//!
//! Sums are taken in double precision and rounded once. `post_transform` changes nothing, as in
//! ONNX Runtime (svmregressor.cc).
//! Refuses: coefficients that are not one for each support vector.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use super::SupportVectors;
use crate::error::Problem;
use crate::onnx::apart::dot;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::post_transform::PostTransform;
use crate::onnx::tensor::{Shape, Tensor};

#[derive(Debug)]
pub(in crate::onnx::operators) struct SvmRegressor {
    vectors: SupportVectors,
    /// One for each vector.
    coefficients: Vec<f32>,
    rho: f32,
    /// Whether 1 and -1 are answered for the sign.
    is_one_class: bool,
}

impl SvmRegressor {
    pub(in crate::onnx::operators) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let count = usize::try_from(from.integer("n_supports", 0)?);
        let count = count.map_err(|_| from.problem("n_supports", "is no count"))?;
        let coefficients = from.floats("coefficients")?;
        let vectors = SupportVectors::read(from, count, (1, &coefficients))?;
        let coefficients = if count == 0 { vec![1.0] } else { coefficients };
        if coefficients.len() != vectors.count() {
            return Err(from.problem("coefficients", "are not one for each support vector"));
        }
        let [rho, ..] = from.floats("rho")?[..] else {
            return Err(from.problem("rho", "is not given"));
        };
        PostTransform::read(from)?;
        Ok(Self { vectors, coefficients, rho, is_one_class: from.flag("one_class", false)? })
    }
}

impl Operator for SvmRegressor {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let (kernels, rows) = self.vectors.kernels(call)?;
        let room = call.room::<f32>(&mut out[0], Shape::of(&[rows, 1]))?;
        let kernels = kernels.chunks_exact(self.coefficients.len());
        for (score, kernels) in room.iter_mut().zip(kernels) {
            let sum = (dot(kernels, &self.coefficients) + f64::from(self.rho)) as f32;
            *score = match self.is_one_class {
                true if sum > 0.0 => 1.0,
                true => -1.0,
                false => sum,
            };
        }
        Ok(())
    }
}
