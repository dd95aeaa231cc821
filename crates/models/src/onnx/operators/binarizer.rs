//! Computes `Binarizer` of ONNX-ML: 1 above a threshold, else 0, also for NaN.
//!
//! Refuses: anything but floats.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::Tensor;

/// 1 above a threshold, else 0.
#[derive(Debug)]
pub(super) struct Binarizer {
    threshold: f32,
}

impl Binarizer {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { threshold: from.float("threshold", 0.0)? })
    }
}

impl Operator for Binarizer {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let elements = value.elements::<f32>()?;
        let room = call.room::<f32>(&mut out[0], value.shape)?;
        for (room, x) in room.iter_mut().zip(elements) {
            *room = if *x > self.threshold { 1.0 } else { 0.0 };
        }
        Ok(())
    }
}
