//! Computes `ConstantOfShape`: fills a shape, given as data, with one element.
//!
//! A size below 0 counts as 0. The shape is known only when it runs, so `call.rs` bounds it.
//! Refuses: more than four dimensions, and a value that is not one element.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, RANK_MAX, Shape, Tensor, by_element};

/// `ConstantOfShape`.
#[derive(Debug)]
pub(super) struct ConstantOfShape(Tensor);

impl ConstantOfShape {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let value = from.tensor("value")?;
        let value =
            value.unwrap_or(Tensor { shape: Shape::of(&[1]), data: Data::Floats(vec![0.0]) });
        match value.data.len() {
            1 => Ok(Self(value)),
            _ => Err(from.problem("value", "is not one element")),
        }
    }
}

impl Operator for ConstantOfShape {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let sizes = call.input(0)?.elements::<i64>()?;
        if sizes.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        let sizes = sizes.iter().map(|size| usize::try_from(*size).unwrap_or(0));
        let shape = Shape::checked(sizes)?;
        by_element!(&self.0.data, elements => call.room(&mut out[0], shape)?.fill(elements[0]));
        Ok(())
    }
}
