//! Computes `Shape`: all sizes of a value, as integers.
//!
//! `start` and `end` of version 15 are not read.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Shape, Tensor};

/// `Shape`.
#[derive(Debug)]
pub(super) struct ShapeOf;

impl Operator for ShapeOf {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let shape = call.input(0)?.shape;
        let room = call.room::<i64>(&mut out[0], Shape::of(&[shape.sizes().len()]))?;
        room.iter_mut().zip(shape.sizes()).for_each(|(room, size)| *room = *size as i64);
        Ok(())
    }
}
