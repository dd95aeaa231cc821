//! Computes `Transpose` of a table, of elements of any kind.
//!
//! `perm` of `[0, 1]` copies; `[1, 0]`, or none, turns the table.
//! Refuses: any other `perm`, and tensors of other than two dimensions.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Shape, Tensor, by_element};

#[derive(Debug)]
pub(super) struct Transpose {
    is_turned: bool,
}

impl Transpose {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let order = from.integers("perm")?;
        match (from.has("perm"), order.as_slice()) {
            (false, _) | (true, [1, 0]) => Ok(Self { is_turned: true }),
            (true, [0, 1]) => Ok(Self { is_turned: false }),
            _ => Err(from.problem("perm", &format!("{order:?} is no order of a table's axes"))),
        }
    }
}

impl Operator for Transpose {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let [rows, columns] = *value.shape.sizes() else {
            return Err(format!("{} is no table", value.shape));
        };
        if !self.is_turned {
            return call.copy(value, value.shape, &mut out[0]);
        }
        by_element!(&value.data, elements => {
            let room = call.room(&mut out[0], Shape::of(&[columns, rows]))?;
            for (index, room) in room.iter_mut().enumerate() {
                *room = elements[index % rows * columns + index / rows];
            }
        });
        Ok(())
    }
}
