//! Computes `Shape`: sizes of a value, as integers.
//!
//! From version 15 on `start` and `end` choose which; beyond the sizes they are cut to them, and
//! below 0 they count from the end.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Shape, Tensor};

/// `Shape`.
#[derive(Debug)]
pub(super) struct ShapeOf {
    start: i64,
    end: i64,
}

impl ShapeOf {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        match from.opset {
            15.. => {
                Ok(Self { start: from.integer("start", 0)?, end: from.integer("end", i64::MAX)? })
            }
            _ => Ok(Self { start: 0, end: i64::MAX }),
        }
    }
}

impl Operator for ShapeOf {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let shape = call.input(0)?.shape;
        let rank = shape.sizes().len() as i64;
        let place = |at: i64| if at < 0 { at.saturating_add(rank) } else { at }.clamp(0, rank);
        let (start, end) = (place(self.start), place(self.end));
        let sizes = &shape.sizes()[start as usize..end.max(start) as usize];
        let room = call.room::<i64>(&mut out[0], Shape::of(&[sizes.len()]))?;
        room.iter_mut().zip(sizes).for_each(|(room, size)| *room = *size as i64);
        Ok(())
    }
}
