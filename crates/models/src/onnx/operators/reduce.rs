//! Computes `ReduceSum`, `ReduceMean`, `ReduceProd`, `ReduceMin`, `ReduceMax`, `ReduceSumSquare`,
//! `ReduceL1`, `ReduceL2`, `ReduceLogSum` and `ReduceLogSumExp`.
//!
//! Floats are taken in double precision, in the order of elements, and rounded once. Integers are
//! exact, cut towards 0, and held within 64 bits; ONNX Runtime loses digits beyond 2^53. NaN wins
//! in a minimum and a maximum, as in ONNX's reference; what ONNX Runtime gives depends on where it
//! stands.
//! Axes are a constant input from version 18 on, for `ReduceSum` from 13 on; before, they are an
//! attribute. Without axes, everything becomes one element.
//! Refuses: axes that do not stand side by side, axes that are no constant, `noop_with_empty_axes`
//! without axes, flags and texts.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use std::iter::{Copied, StepBy, Take};
use std::slice::Iter;

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Tensor};

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
    LogSum,
    LogSumExp,
}

/// The elements that become one.
type Along<'a, T> = Copied<Take<StepBy<Iter<'a, T>>>>;

#[derive(Debug)]
pub(super) struct Reduce {
    what: Reduction,
    /// All where there are none.
    axes: Vec<i64>,
    keeps_sizes: bool,
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
            Self::Sum | Self::Mean | Self::LogSum => so_far + x,
            // Less the largest one, which `of_floats` sees to.
            Self::LogSumExp => so_far + x.exp(),
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
            Self::LogSum | Self::LogSumExp => result.ln(),
            _ => result,
        }
    }

    fn of_floats<T: Numeric>(self, numbers: impl ExactSizeIterator<Item = T> + Clone) -> T {
        let count = numbers.len();
        // Of exponents beyond those of doubles the sum would be infinite.
        let most = match self {
            Self::LogSumExp => numbers.clone().fold(f64::MIN, |most, x| most.max(x.double())),
            _ => 0.0,
        };
        let most = if most.is_finite() { most } else { 0.0 };
        let result = numbers.fold(self.start(), |so_far, x| self.step(so_far, x.double() - most));
        T::rounded(self.end(result, count) + most)
    }

    fn of_integers(self, numbers: impl ExactSizeIterator<Item = i64>) -> i64 {
        let count = numbers.len() as i128;
        let wide = numbers.map(i128::from);
        let result = match self {
            Self::Sum => wide.sum(),
            Self::Mean => wide.sum::<i128>().checked_div(count).unwrap_or(0),
            // What is beyond 128 bits stays beyond 64, but for a 0 to come.
            Self::Prod => wide.fold(1, i128::saturating_mul),
            Self::Min => wide.min().unwrap_or(i128::MAX),
            Self::Max => wide.max().unwrap_or(i128::MIN),
            Self::L1 => wide.map(i128::abs).sum(),
            Self::SumSquare => wide.fold(0, |sum: i128, x| sum.saturating_add(x * x)),
            Self::L2 => wide.fold(0, |sum: i128, x| sum.saturating_add(x * x)).isqrt(),
            Self::LogSum | Self::LogSumExp => {
                let doubles: Vec<f64> = wide.map(|x| x as f64).collect();
                self.of_floats(doubles.into_iter()) as i128
            }
        };
        result.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

impl Reduce {
    pub(super) fn read(from: &Attributes<'_, '_>, what: Reduction) -> Result<Self, Problem> {
        let since = if matches!(what, Reduction::Sum) { 13 } else { 18 };
        let axes = from.integers_or_input("axes", 1, since)?.unwrap_or_default();
        let is_noop = from.opset >= since && from.flag("noop_with_empty_axes", false)?;
        if axes.is_empty() && is_noop {
            return Err(from.problem("noop_with_empty_axes", "is not supported without axes"));
        }
        Ok(Self { what, axes, keeps_sizes: from.flag("keepdims", true)? })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        value: &Tensor,
        out: &mut Tensor,
        of: impl Fn(Reduction, Along<'_, T>) -> T,
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
        let room = call.room::<T>(out, value.shape.reduced(first..end, self.keeps_sizes)?)?;
        for (index, room) in room.iter_mut().enumerate() {
            let start = index / after * along * after + index % after;
            let numbers = elements.get(start..).unwrap_or_default().iter().step_by(after);
            *room = of(self.what, numbers.take(along).copied());
        }
        Ok(())
    }
}

impl Operator for Reduce {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        match value.data {
            Data::Floats(_) => {
                self.numbers::<f32>(call, value, &mut out[0], |what, all| what.of_floats(all))
            }
            Data::Doubles(_) => {
                self.numbers::<f64>(call, value, &mut out[0], |what, all| what.of_floats(all))
            }
            _ => self.numbers::<i64>(call, value, &mut out[0], |what, all| what.of_integers(all)),
        }
    }
}

#[cfg(test)]
mod tests;
