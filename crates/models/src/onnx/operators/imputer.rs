//! Computes `Imputer` of ONNX-ML: puts a number in place of another, which may be NaN.
//!
//! Floats and doubles take the float settings, integers the others. There is one number for all
//! columns, or one for each; another count is an error when it runs.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, Element, Tensor};

/// A number in place of another, which may be NaN.
#[derive(Debug)]
pub(super) struct Imputer {
    floats: Vec<f32>,
    replaced_float: f32,
    integers: Vec<i64>,
    replaced_integer: i64,
}

impl Imputer {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self {
            floats: from.floats("imputed_value_floats")?,
            replaced_float: from.float("replaced_value_float", 0.0)?,
            integers: from.integers("imputed_value_int64s")?,
            replaced_integer: from.integer("replaced_value_int64", 0)?,
        })
    }
}

impl Operator for Imputer {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let replaced = f64::from(self.replaced_float);
        let is_replaced = |x: f64| x == replaced || (x.is_nan() && replaced.is_nan());
        match value.data {
            Data::Floats(_) => {
                impute(call, &mut out[0], &self.floats, |x: f32| is_replaced(x.into()))
            }
            Data::Doubles(_) => {
                let columns = value.columns(self.floats.len())?;
                let room = call.room::<f64>(&mut out[0], value.shape)?;
                for (index, (room, x)) in room.iter_mut().zip(value.elements::<f64>()?).enumerate()
                {
                    let at = if self.floats.len() == 1 { 0 } else { index % columns };
                    *room = if is_replaced(*x) { self.floats[at].into() } else { *x };
                }
                Ok(())
            }
            _ => impute(call, &mut out[0], &self.integers, |x: i64| x == self.replaced_integer),
        }
    }
}

fn impute<T: Element>(
    call: &mut OperatorCall<'_>,
    out: &mut Tensor,
    imputed: &[T],
    is_replaced: impl Fn(T) -> bool,
) -> Result<(), String> {
    let value = call.input(0)?;
    let columns = value.columns(imputed.len())?;
    let elements = value.elements::<T>()?;
    let room = call.room::<T>(out, value.shape)?;
    for (index, (room, x)) in room.iter_mut().zip(elements).enumerate() {
        let at = if imputed.len() == 1 { 0 } else { index % columns };
        *room = if is_replaced(*x) { imputed[at] } else { *x };
    }
    Ok(())
}
