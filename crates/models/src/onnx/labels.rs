//! Reads the labels of classes, integers or texts, and writes the labels of rows.
//!
//! One of the two lists may be there and empty; both with labels are refused.
//! Invariant: there are 1 to `OUTPUTS_MAX` classes. A class number that is none panics: the
//! operators that choose classes (`operators/linear.rs`, tree ensembles) stay below their count.
//! Texts are codes of the model's list (`tensor.rs`). Which class wins is not decided here.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::OperatorCall;
use crate::onnx::tensor::{Shape, Tensor, TextCode};
use crate::trees::forest::OUTPUTS_MAX;

#[derive(Debug)]
pub(super) enum Labels {
    Integers(Vec<i64>),
    Texts(Vec<TextCode>),
}

/// Where the labels of rows are written.
pub(super) enum LabelRoom<'a> {
    Integers(&'a [i64], &'a mut [i64]),
    Texts(&'a [TextCode], &'a mut [TextCode]),
}

impl Labels {
    /// Reads the labels of one of two attributes.
    pub(super) fn read(
        from: &mut Attributes<'_, '_>,
        integers: &str,
        texts: &str,
    ) -> Result<Self, Problem> {
        let labels = match (from.exact_integers(integers)?, from.text_codes(texts)?) {
            (numbers, codes) if codes.is_empty() => Self::Integers(numbers),
            (numbers, codes) if numbers.is_empty() => Self::Texts(codes),
            _ => return Err(from.problem(integers, &format!("and `{texts}` are both given"))),
        };
        match labels.len() {
            1..=OUTPUTS_MAX => Ok(labels),
            count => Err(from.problem(integers, &format!("are {count}, not 1 to {OUTPUTS_MAX}"))),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Integers(labels) => labels.len(),
            Self::Texts(labels) => labels.len(),
        }
    }

    /// Makes room for the labels of so many rows.
    pub(super) fn room<'a>(
        &'a self,
        call: &mut OperatorCall<'_>,
        value: &'a mut Tensor,
        rows: usize,
    ) -> Result<LabelRoom<'a>, String> {
        let shape = Shape::of(&[rows]);
        match self {
            Self::Integers(labels) => {
                Ok(LabelRoom::Integers(labels, call.room::<i64>(value, shape)?))
            }
            Self::Texts(labels) => {
                Ok(LabelRoom::Texts(labels, call.room::<TextCode>(value, shape)?))
            }
        }
    }
}

impl LabelRoom<'_> {
    /// Writes the label of a class as that of a row.
    pub(super) fn write(&mut self, row: usize, class: usize) {
        match self {
            Self::Integers(labels, room) => room[row] = labels[class],
            Self::Texts(labels, room) => room[row] = labels[class],
        }
    }
}
