//! Computes `Cast` between numbers and flags; texts stay texts.
//!
//! Numbers become integers cut towards 0 and held within 64 or 32 bits; NaN becomes 0. An integer
//! keeps its lowest 32 bits, as ONNX wants. Any number but 0 is true.
//! `saturate` and `round_mode` are for kinds that are refused, so they change nothing.
//! Refuses: numbers or flags to texts, and texts to numbers or flags.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::each;
use crate::onnx::file::kind;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

/// A conversion of numbers; texts stay texts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cast {
    Float,
    Double,
    Integer,
    Integer32,
    Bool,
    Text,
}

impl Cast {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        if from.opset >= 19 {
            from.flag("saturate", true)?;
        }
        if from.opset >= 24 {
            from.text("round_mode", "up")?;
        }
        match from.integer("to", 0)? {
            kind::FLOAT => Ok(Self::Float),
            kind::DOUBLE => Ok(Self::Double),
            kind::INT64 => Ok(Self::Integer),
            kind::INT32 => Ok(Self::Integer32),
            kind::BOOL => Ok(Self::Bool),
            kind::TEXT => Ok(Self::Text),
            other => Err(from.problem("to", &format!("is data type {other}, which is not known"))),
        }
    }

    fn numbers<T: Numeric>(
        self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), String> {
        match self {
            Self::Float => each::<T, f32>(call, value, out, T::float),
            Self::Double => each::<T, f64>(call, value, out, T::double),
            Self::Integer => each::<T, i64>(call, value, out, |x| x.double() as i64),
            Self::Integer32 => each::<T, i64>(call, value, out, |x| (x.double() as i32).into()),
            Self::Bool => each::<T, bool>(call, value, out, |x| x != T::default()),
            Self::Text => Err("numbers do not become texts here".to_owned()),
        }
    }
}

impl Operator for Cast {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let out = &mut out[0];
        match (&value.data, self) {
            (Data::Integers(_), Self::Integer)
            | (Data::Flags(_), Self::Bool)
            | (Data::Texts(_), Self::Text) => call.copy(value, value.shape, out),
            (Data::Integers(_), Self::Integer32) => {
                each::<i64, i64>(call, value, out, |x| i64::from(x as i32))
            }
            (Data::Floats(_), _) => self.numbers::<f32>(call, value, out),
            (Data::Doubles(_), _) => self.numbers::<f64>(call, value, out),
            (Data::Integers(_), _) => self.numbers::<i64>(call, value, out),
            (Data::Flags(_), Self::Float) => {
                each::<bool, f32>(call, value, out, |flag| f32::from(u8::from(flag)))
            }
            (Data::Flags(_), Self::Double) => {
                each::<bool, f64>(call, value, out, |flag| f64::from(u8::from(flag)))
            }
            (Data::Flags(_), Self::Integer | Self::Integer32) => {
                each::<bool, i64>(call, value, out, i64::from)
            }
            (data, _) => Err(format!("{} do not become that here", data.plural())),
        }
    }
}
