//! Adds up elements along an axis: `CumSum`.
//!
//! Sums are taken in the elements' precision, one after another.
//! Refuses: flags and texts, and an axis that is not one integer.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

#[derive(Debug)]
pub(super) struct CumSum {
    /// Whether an element is not part of its sum.
    is_exclusive: bool,
    is_backwards: bool,
}

impl CumSum {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let (is_exclusive, is_backwards) =
            (from.flag("exclusive", false)?, from.flag("reverse", false)?);
        Ok(Self { is_exclusive, is_backwards })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let [axis] = call.input(1)?.elements::<i64>()? else {
            return Err("the axis is not one number".to_owned());
        };
        let axis = value.shape.axis(*axis)?;
        let (before, along, after) = value.shape.around(axis..axis + 1);
        let elements = value.elements::<T>()?;
        let room = call.room::<T>(out, value.shape)?;
        for line in 0..before * after {
            let mut sum = T::default();
            for step in 0..along {
                let place = if self.is_backwards { along - 1 - step } else { step };
                let place = (line / after * along + place) * after + line % after;
                let with = sum.add(elements[place]);
                room[place] = if self.is_exclusive { sum } else { with };
                sum = with;
            }
        }
        Ok(())
    }
}

impl Operator for CumSum {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}
