//! Computes `Clip` of floats, doubles or integers, between bounds that are attributes or inputs.
//!
//! Bounds are inputs from version 11 on, each one number of the same kind. Before, they are
//! attributes. A bound that is absent is the last finite number, so infinities become finite.
//! Before version 11 it is that of floats, also for doubles.
//! NaN stays NaN, and a least bound above the most gives the most.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::each;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// `Clip`: bounds that are attributes or inputs.
#[derive(Debug)]
pub(super) struct Clip {
    least: Option<f32>,
    most: Option<f32>,
}

impl Clip {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        if from.opset >= 11 {
            return Ok(Self { least: None, most: None });
        }
        if from.is_given(1) || from.is_given(2) {
            return Err(from.problem("min", "and `max` are no inputs before version 11"));
        }
        let (least, most) = (from.float("min", f32::MIN)?, from.float("max", f32::MAX)?);
        Ok(Self { least: Some(least), most: Some(most) })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let bound = |attribute: Option<f32>, index| match (attribute, call.find(index)) {
            (Some(bound), _) => Ok(T::rounded(bound.into())),
            (None, Some(value)) => match value.elements::<T>()? {
                [bound] => Ok(*bound),
                _ => Err(format!("input {index} is not one number")),
            },
            (None, None) => Ok(T::BOUNDS[index - 1]),
        };
        let (least, most) = (bound(self.least, 1)?, bound(self.most, 2)?);
        let least = if most < least { most } else { least };
        each::<T, T>(call, value, out, |x| match x {
            _ if x < least => least,
            _ if x > most => most,
            _ => x,
        })
    }
}

impl Operator for Clip {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}
