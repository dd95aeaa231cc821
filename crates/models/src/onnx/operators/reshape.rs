//! Computes `Reshape`: 0 keeps a size, and one -1 takes what is left. Elements may be of any kind.
//! With `allowzero`, from version 14 on, 0 is a size as any other.
//!
//! A shape of another number of elements is an error of `run`. Reading a file runs it, too, with
//! three rows and then two (`onnx.rs`). So what never fits is refused there.
//! A shape may be computed by the graph.
//! Refuses: several -1, and more than four dimensions. Also a 0 beside a -1 with `allowzero`.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{RANK_MAX, Shape, Tensor};

/// `Reshape`; 0 keeps a size, one -1 takes what is left.
#[derive(Debug)]
pub(super) struct Reshape {
    /// `None` where the graph computes it.
    wanted: Option<Vec<i64>>,
    /// Whether 0 is a size of 0.
    allows_zero: bool,
}

impl Reshape {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let allows_zero = from.opset >= 14 && from.flag("allowzero", false)?;
        if from.opset >= 5 && from.is_given(1) && from.constant(1).is_none() {
            return Ok(Self { wanted: None, allows_zero });
        }
        let wanted = from.integers_or_input("shape", 1, 5)?;
        let wanted = wanted.ok_or_else(|| from.problem("shape", "is not given"))?;
        check(&wanted, allows_zero).map_err(|reason| from.problem("shape", reason))?;
        Ok(Self { wanted: Some(wanted), allows_zero })
    }
}

impl Operator for Reshape {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let wanted = match &self.wanted {
            Some(wanted) => wanted.as_slice(),
            None => call.input(1)?.elements::<i64>()?,
        };
        check(wanted, self.allows_zero).map_err(str::to_owned)?;
        let size = |(axis, size): (usize, &i64)| match *size {
            0 if self.allows_zero => Ok(0),
            0 => value.shape.sizes().get(axis).copied().ok_or("keeps a size that is not there"),
            -1 => Ok(1),
            size => usize::try_from(size).map_err(|_| "has a negative size"),
        };
        let mut sizes = [0; RANK_MAX];
        if wanted.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        for (room, wanted) in sizes.iter_mut().zip(wanted.iter().enumerate()) {
            *room = size(wanted)?;
        }
        let sizes = &mut sizes[..wanted.len()];
        let known = Shape::checked(sizes.iter().copied())?.elements();
        if let Some(open) = wanted.iter().position(|size| *size == -1) {
            sizes[open] = value.data.len().checked_div(known).unwrap_or(0);
        }
        call.copy(value, Shape::checked(sizes.iter().copied())?, &mut out[0])
    }
}

fn check(wanted: &[i64], allows_zero: bool) -> Result<(), &'static str> {
    if wanted.iter().filter(|size| **size == -1).count() > 1 {
        return Err("has more than one -1");
    }
    match allows_zero && wanted.contains(&0) && wanted.contains(&-1) {
        true => Err("with `allowzero` does not go with a 0 and a -1"),
        false => Ok(()),
    }
}
