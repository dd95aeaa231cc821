//! Copies a value for `Identity`, `Dropout` and `ZipMap`, which change nothing when a model is
//! asked.
//!
//! The classes of `ZipMap` are read in `onnx.rs`, as names of columns. The mask of `Dropout` is
//! written where it has a name, as ONNX Runtime does: it is set from version 12 on, and not before.
//! Its elements are flags from version 10 on; before, they are of the value's kind.
//! Refuses: `Dropout` in training, or that may be.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, Tensor, by_element};

/// `Identity`, and `ZipMap`: the columns of a map are the classes in order.
#[derive(Debug)]
pub(super) struct Identity;

/// `Dropout` outside of training.
#[derive(Debug)]
pub(super) struct Dropout(Option<Mask>);

#[derive(Debug, Clone, Copy)]
enum Mask {
    /// Zeros of the value's kind.
    Zeros,
    Flags(bool),
}

/// Reads `ZipMap`, whose labels are the columns' names only.
pub(super) fn zip_map(from: &Attributes<'_, '_>) -> Result<Identity, Problem> {
    from.integers("classlabels_int64s")?;
    from.texts("classlabels_strings", |_| Ok(()))?;
    Ok(Identity)
}

impl Dropout {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        if from.opset < 12 {
            from.float("ratio", 0.5)?;
        } else {
            from.integer("seed", 0)?;
        }
        if from.opset < 12 && (from.is_given(1) || from.is_given(2)) {
            return Err(from.problem("ratio", "is no input before version 12"));
        }
        let mode = from.constant(2).map(|value| &value.data);
        let is_still = match mode {
            Some(Data::Flags(flags)) => !flags.iter().any(|flag| *flag),
            Some(_) => false,
            None => !from.is_given(2),
        };
        if !is_still {
            return Err(from.problem("training_mode", "must be constant and false"));
        }
        let has_mask = from.node.outputs.get(1).is_some_and(|name| !name.is_empty());
        let mask = match from.opset {
            12.. => Mask::Flags(true),
            10.. => Mask::Flags(false),
            _ => Mask::Zeros,
        };
        Ok(Self(has_mask.then_some(mask)))
    }
}

impl Operator for Identity {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        call.copy(value, value.shape, &mut out[0])
    }
}

impl Operator for Dropout {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let [copy, mask] = out;
        call.copy(value, value.shape, copy)?;
        match self.0 {
            None => {}
            Some(Mask::Flags(flag)) => call.room::<bool>(mask, value.shape)?.fill(flag),
            Some(Mask::Zeros) => by_element!(&value.data, elements => {
                let room = call.room(mask, value.shape)?;
                room.copy_from_slice(elements);
                room.fill(Default::default());
            }),
        }
        Ok(())
    }
}
