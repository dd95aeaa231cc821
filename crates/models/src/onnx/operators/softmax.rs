//! Computes `Softmax` and `LogSoftmax` of floats or doubles.
//!
//! Sums are taken in double precision, and results rounded once. Before version 13 all axes from
//! the given one on count as one, and the default axis is 1; since then it is the last.
//! Refuses: integers. The softmax of ONNX-ML's scores is in `post_transform.rs`.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// `Softmax`, and its logarithm.
#[derive(Debug)]
pub(super) struct Softmax {
    axis: i64,
    /// Before version 13, all axes from this one on are one.
    is_flat: bool,
    is_log: bool,
}

impl Softmax {
    pub(super) fn read(from: &Attributes<'_, '_>, is_log: bool) -> Result<Self, Problem> {
        let is_flat = from.opset < 13;
        Ok(Self { axis: from.integer("axis", if is_flat { 1 } else { -1 })?, is_flat, is_log })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let axis = value.shape.axis(self.axis)?;
        let end = if self.is_flat { value.shape.sizes().len() } else { axis + 1 };
        let (before, along, after) = value.shape.around(axis..end);
        let elements = value.elements::<T>()?;
        let room = call.room::<T>(out, value.shape)?;
        for group in 0..before * after {
            let start = group / after * along * after + group % after;
            let places = (0..along).map(|at| start + at * after);
            let numbers = places.clone().map(|at| elements[at].double());
            let most = numbers.clone().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = numbers.map(|x| (x - most).exp()).sum();
            for at in places {
                let x = elements[at].double() - most;
                room[at] = T::rounded(if self.is_log { x - sum.ln() } else { x.exp() / sum });
            }
        }
        Ok(())
    }
}

impl Operator for Softmax {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<f32>(call, value, &mut out[0]),
        }
    }
}
