//! Computes `Add`, `Sub`, `Mul`, `Div` and `Pow` of two tensors; `Sum`, `Min` and `Max` of any
//! number of them.
//!
//! Both sides are of one kind, floats, doubles or integers, and computed in it (`numeric.rs`). The
//! smaller is repeated (`elementwise.rs`). NaN wins in a minimum and a maximum.
//! Refuses: operands of different kinds, flags and texts. `Sum`, `Min` and `Max` copy a single
//! operand, of whatever kind.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::pairwise;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
}

/// `Sum`, `Min`, `Max` of any number of values.
#[derive(Debug)]
pub(super) struct Fold(pub(super) Arithmetic);

impl Operator for Arithmetic {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        self.combine(call, (a, b), &mut out[0])
    }
}

impl Arithmetic {
    fn combine(
        self,
        call: &mut OperatorCall<'_>,
        pair: (&Tensor, &Tensor),
        out: &mut Tensor,
    ) -> Result<(), String> {
        match pair.0.data {
            Data::Floats(_) => self.numbers::<f32>(call, pair, out),
            Data::Doubles(_) => self.numbers::<f64>(call, pair, out),
            _ => self.numbers::<i64>(call, pair, out),
        }
    }

    fn numbers<T: Numeric>(
        self,
        call: &mut OperatorCall<'_>,
        (a, b): (&Tensor, &Tensor),
        out: &mut Tensor,
    ) -> Result<(), String> {
        // Each arm is a loop of its own, so that the compiler makes vectors of it.
        match self {
            Self::Add => pairwise::<T, T>(call, (a, b), out, T::add),
            Self::Sub => pairwise::<T, T>(call, (a, b), out, T::sub),
            Self::Mul => pairwise::<T, T>(call, (a, b), out, T::mul),
            Self::Div => pairwise::<T, T>(call, (a, b), out, T::div),
            Self::Pow => pairwise::<T, T>(call, (a, b), out, T::pow),
            // NaN wins.
            Self::Min => pairwise::<T, T>(call, (a, b), out, |a, b| match a < b || a.is_nan() {
                true => a,
                false => b,
            }),
            Self::Max => pairwise::<T, T>(call, (a, b), out, |a, b| match a > b || a.is_nan() {
                true => a,
                false => b,
            }),
        }
    }
}

impl Operator for Fold {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let [sum, next] = out;
        let first = call.input(0)?;
        call.copy(first, first.shape, sum)?;
        for index in 1..call.count() {
            let value = call.input(index)?;
            self.0.combine(call, (&*sum, value), next)?;
            std::mem::swap(sum, next);
        }
        Ok(())
    }
}
