//! What prepares rows in ONNX-ML: scaling, filling in what is missing, norms, thresholds.

use super::arithmetic::Numeric;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Element, Value};

/// `(x - offset) * scale`, one of each for every column or for all.
#[derive(Debug)]
pub(super) struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

/// A number in place of another, which may be NaN.
#[derive(Debug)]
pub(super) struct Imputer {
    floats: Vec<f32>,
    replaced_float: f32,
    integers: Vec<i64>,
    replaced_integer: i64,
}

/// Rows divided by a norm.
#[derive(Debug)]
pub(super) struct Normalizer(Norm);

#[derive(Debug, Clone, Copy)]
enum Norm {
    Max,
    L1,
    L2,
}

/// 1 above a threshold, else 0.
#[derive(Debug)]
pub(super) struct Binarizer {
    threshold: f32,
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
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let columns = columns(value, self.offset.len())?;
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
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let replaced = f64::from(self.replaced_float);
        let is_replaced = |x: f64| x == replaced || (x.is_nan() && replaced.is_nan());
        match value.data {
            Data::Floats(_) => {
                impute(call, &mut out[0], &self.floats, |x: f32| is_replaced(x.into()))
            }
            Data::Doubles(_) => {
                let columns = columns(value, self.floats.len())?;
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
    call: &mut Call<'_>,
    out: &mut Value,
    imputed: &[T],
    is_replaced: impl Fn(T) -> bool,
) -> Result<(), String> {
    let value = call.input(0)?;
    let columns = columns(value, imputed.len())?;
    let elements = value.elements::<T>()?;
    let room = call.room::<T>(out, value.shape)?;
    for (index, (room, x)) in room.iter_mut().zip(elements).enumerate() {
        let at = if imputed.len() == 1 { 0 } else { index % columns };
        *room = if is_replaced(*x) { imputed[at] } else { *x };
    }
    Ok(())
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
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let columns = columns(value, 1)?;
        let room = call.room::<f32>(&mut out[0], value.shape)?;
        match &value.data {
            Data::Floats(rows) => self.numbers(rows, columns, room),
            Data::Doubles(rows) => self.numbers(rows, columns, room),
            _ => self.numbers(value.elements::<i64>()?, columns, room),
        }
        Ok(())
    }
}

impl Binarizer {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { threshold: from.float("threshold", 0.0)? })
    }
}

impl Operator for Binarizer {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let elements = value.elements::<f32>()?;
        let room = call.room::<f32>(&mut out[0], value.shape)?;
        for (room, x) in room.iter_mut().zip(elements) {
            *room = if *x > self.threshold { 1.0 } else { 0.0 };
        }
        Ok(())
    }
}

/// Returns the columns of rows, for which there are as many settings, or one for all.
fn columns(value: &Value, settings: usize) -> Result<usize, String> {
    match value.rows() {
        (_, columns) if columns > 0 && (settings == 1 || settings == columns) => Ok(columns),
        _ => Err(format!("settings of {settings} columns do not fit {}", value.shape)),
    }
}
