//! Computes `Mod`: what a division leaves, of two tensors element by element.
//!
//! Without `fmod` it has the sign of the divisor, as Python's `%`; with `fmod`, the sign of the
//! dividend, as C's. Integers are exact in both ways, where ONNX Runtime rounds large ones with
//! `fmod`. What a division by 0 leaves is 0 of integers, as their quotient is (`numeric.rs`), and
//! NaN of floats. The smaller tensor is repeated (`elementwise.rs`).
//! Refuses: floats and doubles without `fmod`, as ONNX does; operands of different kinds, flags and
//! texts.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::pairwise;
use crate::onnx::tensor::{Data, Tensor};

/// Whose sign a remainder has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Modulo {
    OfDivisor,
    OfDividend,
}

impl Modulo {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(if from.flag("fmod", false)? { Self::OfDividend } else { Self::OfDivisor })
    }
}

impl Operator for Modulo {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let pair = (call.input(0)?, call.input(1)?);
        let out = &mut out[0];
        match (&pair.0.data, self) {
            (Data::Floats(_), Self::OfDividend) => {
                pairwise::<f32, f32>(call, pair, out, |a, b| a % b)
            }
            (Data::Doubles(_), Self::OfDividend) => {
                pairwise::<f64, f64>(call, pair, out, |a, b| a % b)
            }
            (Data::Floats(_) | Data::Doubles(_), Self::OfDivisor) => {
                Err("`fmod` must be 1 for floats".to_owned())
            }
            (_, Self::OfDividend) => pairwise::<i64, i64>(call, pair, out, of_dividend),
            (_, Self::OfDivisor) => pairwise::<i64, i64>(call, pair, out, of_divisor),
        }
    }
}

fn of_dividend(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_rem(b) }
}

fn of_divisor(a: i64, b: i64) -> i64 {
    let left = of_dividend(a, b);
    // Their signs differ, so the sum does not wrap.
    if left != 0 && (left < 0) != (b < 0) { left + b } else { left }
}

#[cfg(test)]
mod tests;
