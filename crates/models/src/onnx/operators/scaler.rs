//! Computes `Scaler` of ONNX-ML: `(x - offset) * scale`, one of each for every column or for all.
//!
//! Floats are computed as floats, doubles and integers as doubles. The result is floats.
//! Refuses: offsets and scales that differ in number, and rows of another width.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// `(x - offset) * scale`, one of each for every column or for all.
#[derive(Debug)]
pub(super) struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

impl Scaler {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let (offset, scale) = (from.floats("offset")?, from.floats("scale")?);
        match !offset.is_empty() && offset.len() == scale.len() {
            true => Ok(Self { offset, scale }),
            false => Err(from.problem("offset", "and `scale` differ in number")),
        }
    }

    fn numbers<T: Numeric>(&self, rows: &[T], columns: usize, room: &mut [f32]) {
        let of = |x: T, offset: f32, scale: f32| {
            let difference = x.sub(T::rounded(offset.into())).mul(T::rounded(scale.into()));
            difference.double() as f32
        };
        for (row, room) in rows.chunks_exact(columns).zip(room.chunks_exact_mut(columns)) {
            if let ([offset], [scale]) = (&*self.offset, &*self.scale) {
                room.iter_mut().zip(row).for_each(|(room, x)| *room = of(*x, *offset, *scale));
                continue;
            }
            let settings = self.offset.iter().zip(&self.scale);
            for ((room, x), (offset, scale)) in room.iter_mut().zip(row).zip(settings) {
                *room = of(*x, *offset, *scale);
            }
        }
    }
}

impl Operator for Scaler {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let columns = value.columns(self.offset.len())?;
        let room = call.room::<f32>(&mut out[0], value.shape)?;
        match &value.data {
            Data::Floats(rows) => self.numbers(rows, columns, room),
            Data::Doubles(rows) => self.numbers(rows, columns, room),
            _ => {
                // Integers are scaled as the doubles they are.
                for (index, (room, x)) in room.iter_mut().zip(value.elements::<i64>()?).enumerate()
                {
                    let at = if self.offset.len() == 1 { 0 } else { index % columns };
                    let difference = *x as f64 - f64::from(self.offset[at]);
                    *room = (difference * f64::from(self.scale[at])) as f32;
                }
            }
        }
        Ok(())
    }
}
