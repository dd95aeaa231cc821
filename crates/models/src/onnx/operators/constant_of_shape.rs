//! Computes `ConstantOfShape`: fills a shape, given as data, with one element.
//!
//! The shape is known only when it runs, so `call.rs` bounds it.
//! Refuses: sizes below 0, or that are no list; more than four dimensions; and a value that is not
//! one element.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

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
        let wanted = call.input(0)?;
        if wanted.shape.sizes().len() != 1 {
            return Err(format!("{} is no list of sizes", wanted.shape));
        }
        let mut sizes = [0; RANK_MAX];
        let wanted = wanted.elements::<i64>()?;
        if wanted.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        for (size, wanted) in sizes.iter_mut().zip(wanted) {
            *size = usize::try_from(*wanted).map_err(|_| format!("{wanted} is no size"))?;
        }
        let shape = Shape::checked(sizes[..wanted.len()].iter().copied())?;
        by_element!(&self.0.data, elements => call.room(&mut out[0], shape)?.fill(elements[0]));
        Ok(())
    }
}
