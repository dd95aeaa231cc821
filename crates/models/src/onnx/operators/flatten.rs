//! Computes `Flatten`: makes a table of a value, split before an axis. Elements may be of any kind.
//!
//! An axis that the value lacks is an error when it runs.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Shape, Tensor};

#[derive(Debug)]
pub(super) struct Flatten {
    axis: i64,
}

impl Flatten {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { axis: from.integer("axis", 1)? })
    }
}

impl Operator for Flatten {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let rank = value.shape.sizes().len();
        let axis = if self.axis == rank as i64 { rank } else { value.shape.axis(self.axis)? };
        let (before, _, after) = value.shape.around(axis..axis);
        call.copy(value, Shape::of(&[before, after]), &mut out[0])
    }
}
