//! Operators along axes: sums and other reductions, the place of the largest, softmax.
//!
//! Sums of floats are taken in double precision and rounded once.
//! Refuses: reductions along axes that do not stand side by side.

use super::arithmetic::Numeric;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Shape, Value};

#[derive(Debug, Clone, Copy)]
pub(super) enum Reduction {
    Sum,
    Mean,
    Prod,
    Min,
    Max,
    SumSquare,
    L1,
    L2,
}

#[derive(Debug)]
pub(super) struct Reduce {
    what: Reduction,
    /// All where there are none.
    axes: Vec<i64>,
    keeps_sizes: bool,
}

/// `ArgMax` and `ArgMin`.
#[derive(Debug)]
pub(super) struct Extreme {
    axis: i64,
    keeps_sizes: bool,
    is_last: bool,
    is_least: bool,
}

/// `Softmax`, and its logarithm.
#[derive(Debug)]
pub(super) struct Softmax {
    axis: i64,
    /// Before version 13, all axes from this one on are one.
    is_flat: bool,
    is_log: bool,
}

impl Reduction {
    fn start(self) -> f64 {
        match self {
            Self::Prod => 1.0,
            Self::Min => f64::INFINITY,
            Self::Max => f64::NEG_INFINITY,
            _ => 0.0,
        }
    }

    fn step(self, so_far: f64, x: f64) -> f64 {
        match self {
            Self::Sum | Self::Mean => so_far + x,
            Self::Prod => so_far * x,
            Self::Min => {
                if x < so_far || x.is_nan() {
                    x
                } else {
                    so_far
                }
            }
            Self::Max => {
                if x > so_far || x.is_nan() {
                    x
                } else {
                    so_far
                }
            }
            Self::SumSquare | Self::L2 => so_far + x * x,
            Self::L1 => so_far + x.abs(),
        }
    }

    fn end(self, result: f64, count: usize) -> f64 {
        match self {
            Self::Mean => result / count as f64,
            Self::L2 => result.sqrt(),
            _ => result,
        }
    }
}

impl Reduce {
    pub(super) fn read(from: &Attributes<'_, '_>, what: Reduction) -> Result<Self, Problem> {
        let axes = from.integers_or_input("axes", 1)?.unwrap_or_default();
        if axes.is_empty() && from.integer("noop_with_empty_axes", 0)? != 0 {
            return Err(from.problem("noop_with_empty_axes", "is not supported"));
        }
        Ok(Self { what, axes, keeps_sizes: from.integer("keepdims", 1)? != 0 })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
    ) -> Result<(), String> {
        let rank = value.shape.sizes().len();
        let (mut first, mut end) = (0, rank);
        if !self.axes.is_empty() {
            (first, end) = (rank, 0);
            for axis in &self.axes {
                let axis = value.shape.axis(*axis)?;
                (first, end) = (first.min(axis), end.max(axis + 1));
            }
            if end - first != self.axes.len() {
                return Err("axes that do not stand side by side are not supported".to_owned());
            }
        }
        let elements = value.elements::<T>()?;
        let (_, along, after) = value.shape.around(first..end);
        let room = call.room::<T>(out, reduced(value.shape, first..end, self.keeps_sizes)?)?;
        for (index, room) in room.iter_mut().enumerate() {
            let start = index / after * along * after + index % after;
            let own = elements.get(start..).unwrap_or_default().iter().step_by(after);
            let own = own.take(along).map(|x| x.double());
            let result = own.fold(self.what.start(), |so_far, x| self.what.step(so_far, x));
            *room = T::rounded(self.what.end(result, along));
        }
        Ok(())
    }
}

impl Operator for Reduce {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}

impl Extreme {
    pub(super) fn read(from: &Attributes<'_, '_>, is_least: bool) -> Result<Self, Problem> {
        Ok(Self {
            axis: from.integer("axis", 0)?,
            keeps_sizes: from.integer("keepdims", 1)? != 0,
            is_last: from.integer("select_last_index", 0)? != 0,
            is_least,
        })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
    ) -> Result<(), String> {
        let axis = value.shape.axis(self.axis)?;
        let elements = value.elements::<T>()?;
        let (_, along, after) = value.shape.around(axis..axis + 1);
        let room =
            call.room::<i64>(out, reduced(value.shape, axis..axis + 1, self.keeps_sizes)?)?;
        for (index, room) in room.iter_mut().enumerate() {
            let start = index / after * along * after + index % after;
            let mut best = 0;
            for at in 1..along {
                let (new, old) = (elements[start + at * after], elements[start + best * after]);
                let is_better = if self.is_least { new < old } else { new > old };
                if is_better || (self.is_last && new == old) {
                    best = at;
                }
            }
            *room = best as i64;
        }
        Ok(())
    }
}

impl Operator for Extreme {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => self.numbers::<f32>(call, value, &mut out[0]),
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<i64>(call, value, &mut out[0]),
        }
    }
}

impl Softmax {
    pub(super) fn read(from: &Attributes<'_, '_>, is_log: bool) -> Result<Self, Problem> {
        let is_flat = from.opset < 13;
        Ok(Self { axis: from.integer("axis", if is_flat { 1 } else { -1 })?, is_flat, is_log })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut Call<'_>,
        value: &Value,
        out: &mut Value,
    ) -> Result<(), String> {
        let axis = value.shape.axis(self.axis)?;
        let end = if self.is_flat { value.shape.sizes().len() } else { axis + 1 };
        let (before, along, after) = value.shape.around(axis..end);
        let elements = value.elements::<T>()?;
        let room = call.room::<T>(out, value.shape)?;
        for group in 0..before * after {
            let start = group / after * along * after + group % after;
            let places = (0..along).map(|at| start + at * after);
            let own = places.clone().map(|at| elements[at].double());
            let most = own.clone().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = own.map(|x| (x - most).exp()).sum();
            for at in places {
                let x = elements[at].double() - most;
                room[at] = T::rounded(if self.is_log { x - sum.ln() } else { x.exp() / sum });
            }
        }
        Ok(())
    }
}

impl Operator for Softmax {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Doubles(_) => self.numbers::<f64>(call, value, &mut out[0]),
            _ => self.numbers::<f32>(call, value, &mut out[0]),
        }
    }
}

/// Returns a shape without some axes, or with 1 in their place.
fn reduced(shape: Shape, axes: std::ops::Range<usize>, keeps: bool) -> Result<Shape, String> {
    let sizes = shape.sizes().iter().copied().enumerate();
    let kept = sizes.filter(|(axis, _)| keeps || !axes.contains(axis));
    Shape::checked(kept.map(|(axis, size)| if axes.contains(&axis) { 1 } else { size }))
}
