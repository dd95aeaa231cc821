//! Computes functions of one tensor, element by element. They are `Abs`, `Ceil`, `Exp`, `Floor`,
//! `Log`, `Neg`, `Reciprocal`, `Relu`, `Round`, `Sigmoid`, `Sign`, `Softplus`, `Sqrt` and `Tanh`,
//! with `Not` of flags and `IsNaN` of floats.
//!
//! Results are taken in double precision and rounded once. `Relu` stays in its own precision. NaN
//! stays NaN. `Round` takes halves to the even one. `Neg`, `Abs`, `Sign` and `Relu` of integers are
//! integers, and wrap around.
//! Refuses: flags but in `Not`, texts, and all other functions of integers.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::each;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

#[derive(Debug, Clone, Copy)]
pub(super) enum Unary {
    Neg,
    Abs,
    Exp,
    Log,
    Sqrt,
    Reciprocal,
    Sigmoid,
    Tanh,
    Relu,
    Softplus,
    Sign,
    Floor,
    Ceil,
    Round,
}

#[derive(Debug)]
pub(super) struct Not;

#[derive(Debug)]
pub(super) struct IsNan;

impl Unary {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Neg => -x,
            Self::Abs => x.abs(),
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Sqrt => x.sqrt(),
            Self::Reciprocal => 1.0 / x,
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Tanh => x.tanh(),
            // NaN stays.
            Self::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
            Self::Sign => match x {
                _ if x > 0.0 => 1.0,
                _ if x < 0.0 => -1.0,
                _ => x,
            },
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Round => x.round_ties_even(),
        }
    }

    fn numbers<T: Numeric>(
        self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        match self {
            // A loop of its own, so that the compiler makes vectors of it.
            Self::Relu => {
                let zero = T::default();
                each::<T, T>(call, value, out, |x| if x < zero { zero } else { x })
            }
            other => each::<T, T>(call, value, out, |x| T::rounded(other.of(x.double()))),
        }
    }
}

impl Operator for Unary {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => match self {
                Self::Neg => each::<i64, i64>(call, value, &mut out[0], i64::wrapping_neg),
                Self::Abs => each::<i64, i64>(call, value, &mut out[0], i64::wrapping_abs),
                Self::Sign => each::<i64, i64>(call, value, &mut out[0], i64::signum),
                Self::Relu => self.numbers::<i64>(call, value, &mut out[0]),
                _ => Err(format!("{} where floats must be", value.data.plural())),
            },
        }
    }
}

impl Operator for Not {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        each::<bool, bool>(call, value, &mut out[0], |flag| !flag)
    }
}

impl Operator for IsNan {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Doubles(_) => each::<f64, bool>(call, value, &mut out[0], f64::is_nan),
            _ => each::<f32, bool>(call, value, &mut out[0], f32::is_nan),
        }
    }
}
