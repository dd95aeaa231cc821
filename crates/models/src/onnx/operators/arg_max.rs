//! Finds the place of the largest or smallest element along an axis: `ArgMax` and `ArgMin`.
//!
//! Of equal elements the first counts, or the last where the node says so. NaN counts only where it
//! comes first.
//! Refuses: flags and texts.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// `ArgMax` and `ArgMin`.
#[derive(Debug)]
pub(super) struct ArgMax {
    axis: i64,
    keeps_sizes: bool,
    is_last: bool,
    is_least: bool,
}

impl ArgMax {
    pub(super) fn read(from: &Attributes<'_, '_>, is_least: bool) -> Result<Self, Problem> {
        Ok(Self {
            axis: from.integer("axis", 0)?,
            keeps_sizes: from.flag("keepdims", true)?,
            is_last: from.opset >= 12 && from.flag("select_last_index", false)?,
            is_least,
        })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let axis = value.shape.axis(self.axis)?;
        let elements = value.elements::<T>()?;
        let (_, along, after) = value.shape.around(axis..axis + 1);
        let room = call.room::<i64>(out, value.shape.reduced(axis..axis + 1, self.keeps_sizes)?)?;
        for (index, room) in room.iter_mut().enumerate() {
            let start = index / after * along * after + index % after;
            let mut best = 0;
            for at in 1..along {
                let (new, old) = (elements[start + at * after], elements[start + best * after]);
                let is_better = if self.is_least { new < old } else { new > old };
                if is_better || (self.is_last && new == old) {
                    best = at;
                }
            }
            *room = best as i64;
        }
        Ok(())
    }
}

impl Operator for ArgMax {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}
