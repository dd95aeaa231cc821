//! Computes `Equal`, `Less`, `LessOrEqual`, `Greater` and `GreaterOrEqual`; `And`, `Or` and `Xor`
//! of flags.
//!
//! Both sides are of one kind, and repeated to one shape (`elementwise.rs`). Flags and texts can be
//! equal, but have no order here: that is an error.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::pairwise;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor, TextCode};

#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Xor,
}

impl Operator for Comparison {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let out = &mut out[0];
        match (self, &a.data) {
            (Self::And, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a & b),
            (Self::Or, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a | b),
            (Self::Xor, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a ^ b),
            (_, Data::Floats(_)) => self.numbers::<f32>(call, (a, b), out),
            (_, Data::Doubles(_)) => self.numbers::<f64>(call, (a, b), out),
            (Self::Equal, Data::Flags(_)) => {
                pairwise::<bool, bool>(call, (a, b), out, |a, b| a == b)
            }
            (Self::Equal, Data::Texts(_)) if !call.is_constant(0) && !call.is_constant(1) => {
                Err("two inputs of texts are not compared here".to_owned())
            }
            (Self::Equal, Data::Texts(_)) => {
                pairwise::<TextCode, bool>(call, (a, b), out, |a, b| a == b)
            }
            _ => self.numbers::<i64>(call, (a, b), out),
        }
    }
}

impl Comparison {
    fn numbers<T: Numeric>(
        self,
        call: &mut OperatorCall<'_>,
        pair: (&Tensor, &Tensor),
        out: &mut Tensor,
    ) -> Result<(), String> {
        match self {
            Self::Less => pairwise::<T, bool>(call, pair, out, |a, b| a < b),
            Self::LessOrEqual => pairwise::<T, bool>(call, pair, out, |a, b| a <= b),
            Self::Greater => pairwise::<T, bool>(call, pair, out, |a, b| a > b),
            Self::GreaterOrEqual => pairwise::<T, bool>(call, pair, out, |a, b| a >= b),
            _ => pairwise::<T, bool>(call, pair, out, |a, b| a == b),
        }
    }
}
