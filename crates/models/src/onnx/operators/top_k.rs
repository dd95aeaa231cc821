//! Finds the largest or smallest elements along an axis, and their places: `TopK`.
//!
//! Of equal elements the first counts, and NaN stands behind all. They are given in order, also
//! where the node does not ask for it. How many are wanted is an attribute before version 10, and
//! since then an input.
//! Refuses: flags and texts, and when it runs, more elements than the axis has.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use std::cmp::Ordering;

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Shape, Tensor};

#[derive(Debug)]
pub(super) struct TopK {
    axis: i64,
    is_least: bool,
    /// Before version 10.
    count: Option<i64>,
}

impl TopK {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let axis = from.integer("axis", -1)?;
        let count = match from.opset {
            ..10 => Some(from.integer("k", -1)?),
            _ => None,
        };
        let is_least = from.opset >= 11 && !from.flag("largest", true)?;
        if from.opset >= 11 {
            from.flag("sorted", true)?;
        }
        Ok(Self { axis, is_least, count })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut [Tensor; 2],
    ) -> Result<(), String> {
        let axis = value.shape.axis(self.axis)?;
        let (before, along, after) = value.shape.around(axis..axis + 1);
        let count = match self.count {
            Some(count) => count,
            None => *call.input(1)?.elements::<i64>()?.first().ok_or("no count is given")?,
        };
        let count = usize::try_from(count).ok().filter(|count| *count <= along);
        let count = count.ok_or_else(|| format!("takes more than the {along} along its axis"))?;
        let sizes = value.shape.sizes();
        let shape = sizes[..axis].iter().chain([&count]).chain(&sizes[axis + 1..]).copied();
        let shape = Shape::checked(shape)?;
        let elements = value.elements::<T>()?;
        let [values, indices] = out;
        let values = call.room::<T>(values, shape)?;
        let indices = call.room::<i64>(indices, shape)?;
        let mut places: Vec<usize> = Vec::with_capacity(along);
        for line in 0..before * after {
            let at = |place: usize| elements[(line / after * along + place) * after + line % after];
            let order = |a: &usize, b: &usize| {
                let (first, second) = if self.is_least { (a, b) } else { (b, a) };
                compare(at(*first), at(*second)).then(a.cmp(b))
            };
            places.clear();
            places.extend(0..along);
            if count < along {
                places.select_nth_unstable_by(count, order);
            }
            places[..count].sort_unstable_by(order);
            for (rank, place) in places[..count].iter().enumerate() {
                let room = (line / after * count + rank) * after + line % after;
                (values[room], indices[room]) = (at(*place), *place as i64);
            }
        }
        Ok(())
    }
}

/// Orders numbers, and NaN behind all: sorting wants an order of everything.
fn compare<T: Numeric>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl Operator for TopK {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, out),
            Data::Doubles(_) => self.numbers::<f64>(call, value, out),
            _ => self.numbers::<i64>(call, value, out),
        }
    }
}

#[cfg(test)]
mod tests;
