//! Computes `Reshape`: 0 keeps a size, and one -1 takes what is left. Elements may be of any kind.
//!
//! A shape of another number of elements is an error when it runs.
//! Refuses: a shape that is no constant, and more than four dimensions. `allowzero` is not read.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{RANK_MAX, Shape, Tensor};

/// `Reshape`; 0 keeps a size, one -1 takes what is left.
#[derive(Debug)]
pub(super) struct Reshape(Vec<i64>);

impl Reshape {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let sizes = from.integers_or_input("shape", 1)?;
        sizes.map(Self).ok_or_else(|| from.problem("shape", "is not given"))
    }
}

impl Operator for Reshape {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let size = |(axis, size): (usize, &i64)| match *size {
            0 => value.shape.sizes().get(axis).copied().ok_or("keeps a size that is not there"),
            -1 => Ok(1),
            size => usize::try_from(size).map_err(|_| "has a negative size"),
        };
        let mut sizes = [0; RANK_MAX];
        if self.0.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        for (room, wanted) in sizes.iter_mut().zip(self.0.iter().enumerate()) {
            *room = size(wanted)?;
        }
        let sizes = &mut sizes[..self.0.len()];
        let known = Shape::checked(sizes.iter().copied())?.elements();
        if let Some(open) = self.0.iter().position(|size| *size == -1) {
            sizes[open] = value.data.len().checked_div(known).unwrap_or(0);
        }
        call.copy(value, Shape::checked(sizes.iter().copied())?, &mut out[0])
    }
}
