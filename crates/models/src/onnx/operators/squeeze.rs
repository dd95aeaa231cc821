//! Computes `Squeeze` and `Unsqueeze`: removes or adds dimensions of size 1. Elements may be of any
//! kind.
//!
//! Without axes, `Squeeze` removes all of them. A named axis of another size stays, which ONNX
//! calls an error.
//! Refuses: axes that are no constants, and `Unsqueeze` without axes.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Shape, Tensor};

/// `Squeeze` and `Unsqueeze`.
#[derive(Debug)]
pub(super) struct Squeeze {
    axes: Option<Vec<i64>>,
    is_added: bool,
}

impl Squeeze {
    pub(super) fn read(from: &Attributes<'_, '_>, is_added: bool) -> Result<Self, Problem> {
        let axes = from.integers_or_input("axes", 1)?;
        match axes.is_none() && is_added {
            true => Err(from.problem("axes", "are not given")),
            false => Ok(Self { axes, is_added }),
        }
    }
}

impl Operator for Squeeze {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let sizes = value.shape.sizes();
        let Some(axes) = &self.axes else {
            let kept = sizes.iter().copied().filter(|size| *size != 1);
            return call.copy(value, Shape::checked(kept)?, &mut out[0]);
        };
        let rank = sizes.len() + if self.is_added { axes.len() } else { 0 };
        let is_one = |axis: usize| {
            axes.iter().any(|one| *one == axis as i64 || *one + rank as i64 == axis as i64)
        };
        let mut sizes = sizes.iter().copied();
        let shape = if self.is_added {
            Shape::checked((0..rank).map(|axis| match is_one(axis) {
                true => 1,
                false => sizes.next().unwrap_or(1),
            }))?
        } else {
            let kept = sizes.enumerate().filter(|(axis, size)| !(is_one(*axis) && *size == 1));
            Shape::checked(kept.map(|(_, size)| size))?
        };
        call.copy(value, shape, &mut out[0])
    }
}
