//! Copies a value for `Identity`, `Dropout` and `ZipMap`, which change nothing when a model is
//! asked.
//!
//! The classes of `ZipMap` are read in `onnx.rs`, as names of columns. The mask of `Dropout` is not
//! written: it has no elements.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::Tensor;

/// `Identity`, and `ZipMap`: the columns of a map are the classes in order.
#[derive(Debug)]
pub(super) struct Identity;

impl Operator for Identity {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        call.copy(value, value.shape, &mut out[0])
    }
}
