//! Operators of one value, element by element.
//!
//! Functions of floats are taken in double precision and rounded once.

use super::arithmetic::Numeric;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Element, Value};

#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
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

/// `Clip`: bounds that are attributes or inputs.
#[derive(Debug)]
pub(super) struct Clip {
    least: Option<f32>,
    most: Option<f32>,
}

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

impl Function {
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
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
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

impl Operator for Function {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}

impl Operator for Not {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        each::<bool, bool>(call, value, &mut out[0], |flag| !flag)
    }
}

impl Operator for IsNan {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Doubles(_) => each::<f64, bool>(call, value, &mut out[0], f64::is_nan),
            _ => each::<f32, bool>(call, value, &mut out[0], f32::is_nan),
        }
    }
}

impl Clip {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let bound = |name| match from.has(name) {
            true => from.float(name, 0.0).map(Some),
            false => Ok(None),
        };
        Ok(Self { least: bound("min")?, most: bound("max")? })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
    ) -> Result<(), String> {
        let bound = |attribute: Option<f32>, index| match (attribute, call.find(index)) {
            (Some(bound), _) => Ok(Some(T::rounded(bound.into()))),
            (None, Some(value)) => match value.elements::<T>()? {
                [bound] => Ok(Some(*bound)),
                _ => Err(format!("input {index} is not one number")),
            },
            (None, None) => Ok(None),
        };
        let (least, most) = (bound(self.least, 1)?, bound(self.most, 2)?);
        each::<T, T>(call, value, out, |x| match (least, most) {
            (Some(least), _) if x < least => most.filter(|most| *most < least).unwrap_or(least),
            (_, Some(most)) if x > most => most,
            _ => x,
        })
    }
}

impl Operator for Clip {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}

impl Cast {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        use crate::onnx::file::kind;
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
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
    ) -> Result<(), String> {
        match self {
            Self::Float => each::<T, f32>(call, value, out, |x| x.double() as f32),
            Self::Double => each::<T, f64>(call, value, out, T::double),
            Self::Integer => each::<T, i64>(call, value, out, |x| x.double() as i64),
            Self::Integer32 => each::<T, i64>(call, value, out, |x| (x.double() as i32).into()),
            Self::Bool => each::<T, bool>(call, value, out, |x| x != T::default()),
            Self::Text => Err("numbers do not become texts here".to_owned()),
        }
    }
}

impl Operator for Cast {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let out = &mut out[0];
        match (&value.data, self) {
            (Data::Integers(_), Self::Integer)
            | (Data::Flags(_), Self::Bool)
            | (Data::Texts(_), Self::Text) => super::layout::copy(call, value, value.shape, out),
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

fn each<T: Element, O: Element>(
    call: &mut Call<'_>,
    value: &Value,
    out: &mut Value,
    of: impl Fn(T) -> O,
) -> Result<(), String> {
    let elements = value.elements::<T>()?;
    let room = call.room::<O>(out, value.shape)?;
    room.iter_mut().zip(elements).for_each(|(room, element)| *room = of(*element));
    Ok(())
}
