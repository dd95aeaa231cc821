//! Computes `Normalizer` of ONNX-ML: divides rows by their largest number, or by their L1 or L2
//! norm.
//!
//! The result is floats, whatever the numbers. A norm of 0 divides by 1. The largest number is
//! taken with its sign, as in ONNX Runtime. Squares are taken in the precision of the numbers, and
//! integers wrap around.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// Rows divided by a norm.
#[derive(Debug)]
pub(super) struct Normalizer(Norm);

#[derive(Debug, Clone, Copy)]
enum Norm {
    Max,
    L1,
    L2,
}

impl Normalizer {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        match from.text("norm", "MAX")? {
            "MAX" => Ok(Self(Norm::Max)),
            "L1" => Ok(Self(Norm::L1)),
            "L2" => Ok(Self(Norm::L2)),
            other => Err(from.problem("norm", &format!("`{other}` is not known"))),
        }
    }

    fn numbers<T: Numeric>(&self, rows: &[T], columns: usize, room: &mut [f32]) {
        for (row, room) in rows.chunks_exact(columns).zip(room.chunks_exact_mut(columns)) {
            let wide = row.iter().map(|x| x.double());
            let norm = match self.0 {
                Norm::Max => wide.fold(f64::MIN, f64::max),
                Norm::L1 => wide.map(f64::abs).sum(),
                // Squares of floats are floats, so tiny ones vanish.
                Norm::L2 => row.iter().map(|x| x.mul(*x).double()).sum::<f64>().sqrt(),
            };
            let divisor = if norm == 0.0 { 1.0 } else { norm };
            let pairs = room.iter_mut().zip(row);
            pairs.for_each(|(room, x)| *room = (x.double() / divisor) as f32);
        }
    }
}

impl Operator for Normalizer {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let columns = value.columns(1)?;
        let room = call.room::<f32>(&mut out[0], value.shape)?;
        match &value.data {
            Data::Floats(rows) => self.numbers(rows, columns, room),
            Data::Doubles(rows) => self.numbers(rows, columns, room),
            _ => self.numbers(value.elements::<i64>()?, columns, room),
        }
        Ok(())
    }
}
