//! Computes `Squeeze` and `Unsqueeze`: removes or adds dimensions of size 1. Elements may be of any
//! kind.
//!
//! Axes are a constant input from version 13 on, before an attribute. Without axes, `Squeeze`
//! removes all dimensions of size 1.
//! Refuses: axes that are no constants, `Unsqueeze` without axes, and `Squeeze` with an empty list.
//! When it runs, also an axis that is not there, is added twice, or is removed but not of size 1.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{RANK_MAX, Shape, Tensor};

/// `Squeeze` and `Unsqueeze`.
#[derive(Debug)]
pub(super) struct Squeeze {
    axes: Option<Vec<i64>>,
    is_added: bool,
}

impl Squeeze {
    pub(super) fn read(from: &Attributes<'_, '_>, is_added: bool) -> Result<Self, Problem> {
        let axes = from.integers_or_input("axes", 1, 13)?;
        match (&axes, is_added) {
            (None, true) => Err(from.problem("axes", "are not given")),
            // ONNX's reference removes none then, and ONNX Runtime all.
            (Some(axes), false) if axes.is_empty() => Err(from.problem("axes", "are none")),
            _ => Ok(Self { axes, is_added }),
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
        if rank > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        let mut is_one = [false; RANK_MAX];
        for axis in axes {
            let from_start = if *axis < 0 { *axis + rank as i64 } else { *axis };
            let place = usize::try_from(from_start).ok().filter(|place| *place < rank);
            let place = place.ok_or_else(|| format!("there is no axis {axis} among {rank}"))?;
            if std::mem::replace(&mut is_one[place], true) && self.is_added {
                return Err(format!("axis {axis} is added twice"));
            }
            if !self.is_added && sizes[place] != 1 {
                return Err(format!("axis {axis} of {} is not of size 1", value.shape));
            }
        }
        let mut sizes = sizes.iter().copied();
        let shape = if self.is_added {
            let next = |is_one: &bool| if *is_one { 1 } else { sizes.next().unwrap_or(1) };
            Shape::checked(is_one[..rank].iter().map(next))?
        } else {
            let kept = sizes.zip(is_one).filter(|(_, is_one)| !is_one);
            Shape::checked(kept.map(|(size, _)| size))?
        };
        call.copy(value, shape, &mut out[0])
    }
}
