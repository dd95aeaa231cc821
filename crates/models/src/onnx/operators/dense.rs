//! Products of matrices, and the linear operators of ONNX-ML, which are such products with a
//! constant.
//!
//! Sums are taken in double precision and rounded once, so floats differ from those of ONNX
//! Runtime, which adds floats, by what it rounds on its way.
//! A linear classifier of one sum, and what becomes of scores, are as in ONNX Runtime
//! (linearclassifier.cc).

use super::arithmetic::Numeric;
use super::labels::Labels;
use super::post_transform::{Transform, probit};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Shape, Value};
use crate::trees::forest::OUTPUTS_MAX;

/// Columns of a product that are summed side by side.
pub(super) const ABREAST: usize = 16;

/// Numbers of a row that are made doubles at once.
const INNER: usize = 64;

#[derive(Debug)]
pub(super) struct MatMul;

/// `alpha * A * B + beta * C`.
#[derive(Debug)]
pub(super) struct Gemm {
    alpha: f32,
    beta: f32,
    is_a_turned: bool,
    is_b_turned: bool,
}

#[derive(Debug)]
pub(super) struct LinearRegressor {
    weights: Weights,
    transform: Transform,
}

#[derive(Debug)]
pub(super) struct LinearClassifier {
    weights: Weights,
    labels: Labels,
    transform: Transform,
}

/// Coefficients, an output after another for each feature, and intercepts.
#[derive(Debug)]
struct Weights {
    features: usize,
    coefficients: Vec<f32>,
    intercepts: Vec<f32>,
}

/// The right side of a product: `sizes` rows and columns, and how far apart their neighbours stand.
#[derive(Clone, Copy)]
struct Right<'a, T> {
    elements: &'a [T],
    sizes: [usize; 2],
    steps: [usize; 2],
}

impl Operator for MatMul {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let pair = (call.input(0)?, call.input(1)?);
        match pair.0.data {
            Data::Doubles(_) => matmul::<f64>(call, pair, &mut out[0]),
            _ => matmul::<f32>(call, pair, &mut out[0]),
        }
    }
}

fn matmul<T: Numeric>(
    call: &mut Call<'_>,
    (a, b): (&Value, &Value),
    out: &mut Value,
) -> Result<(), String> {
    // A list on the right is a column, of which nothing is left.
    let (inner, other, columns) = match (a.shape.sizes(), b.shape.sizes()) {
        ([.., inner], [other, columns]) => (inner, other, Some(columns)),
        ([.., inner], [other]) => (inner, other, None),
        _ => return Err(format!("{} by {} is not supported", a.shape, b.shape)),
    };
    if inner != other {
        return Err(format!("{} and {} do not go together", a.shape, b.shape));
    }
    let (rows, _) = a.rows();
    let kept = a.shape.sizes()[..a.shape.sizes().len() - 1].iter().copied();
    let shape = Shape::checked(kept.chain(columns.copied()))?;
    let columns = columns.unwrap_or(&1);
    call.spend(rows.saturating_mul(*inner).saturating_mul(*columns))?;
    let right =
        Right { elements: b.elements::<T>()?, sizes: [*inner, *columns], steps: [*columns, 1] };
    let left = a.elements::<T>()?;
    let room = call.room::<T>(out, shape)?;
    for (row, room) in room.chunks_exact_mut((*columns).max(1)).enumerate() {
        let left = &left[row * inner..][..*inner];
        product(left, right, |_| 0.0, |column, sum| room[column] = T::rounded(sum));
    }
    Ok(())
}

/// Hands over each number of a row's product, which begins with what `first` gives.
fn product<A: Numeric, T: Numeric>(
    left: &[A],
    right: Right<'_, T>,
    first: impl Fn(usize) -> f64,
    mut done: impl FnMut(usize, f64),
) {
    let [_, columns] = right.sizes;
    let mut start = 0;
    while start < columns {
        let count = ABREAST.min(columns - start);
        let mut sums = [0.0; ABREAST];
        if count == ABREAST && right.steps[1] == 1 {
            let mut wide = [0.0; INNER];
            for (part, left) in left.chunks(INNER).enumerate() {
                wide.iter_mut().zip(left).for_each(|(wide, a)| *wide = a.double());
                let from = part * INNER * right.steps[0] + start;
                let own = &right.elements[from..];
                T::add_products(&wide[..left.len()], own, right.steps[0], &mut sums);
            }
        } else {
            for (at, sum) in sums[..count].iter_mut().enumerate() {
                let first = (start + at) * right.steps[1];
                for (row, a) in left.iter().enumerate() {
                    *sum += a.double() * right.elements[row * right.steps[0] + first].double();
                }
            }
        }
        for (at, sum) in sums[..count].iter().enumerate() {
            done(start + at, sum + first(start + at));
        }
        start += count;
    }
}

impl Gemm {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self {
            alpha: from.float("alpha", 1.0)?,
            beta: from.float("beta", 1.0)?,
            is_a_turned: from.integer("transA", 0)? != 0,
            is_b_turned: from.integer("transB", 0)? != 0,
        })
    }

    fn numbers<T: Numeric>(&self, call: &mut Call<'_>, out: &mut Value) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let ([rows, inner], [b_rows, b_columns]) = (a.shape.sizes(), b.shape.sizes()) else {
            return Err(format!("{} by {} is not supported", a.shape, b.shape));
        };
        if self.is_a_turned {
            return Err("`transA` is not supported".to_owned());
        }
        let right = match self.is_b_turned {
            true => ([*b_columns, *b_rows], [1, *b_columns]),
            false => ([*b_rows, *b_columns], [*b_columns, 1]),
        };
        let right = Right { elements: b.elements::<T>()?, sizes: right.0, steps: right.1 };
        let [other, columns] = right.sizes;
        let shape = Shape::checked([*rows, columns])?;
        let added = call.find(2).map(|value| -> Result<_, String> {
            if super::arithmetic::broadcast(shape, value.shape)? != shape {
                return Err(format!("{} and {shape} do not go together", value.shape));
            }
            let [.., tall, wide] = value.shape.padded();
            let step = |size, step| if size == 1 { 0 } else { step };
            Ok((value.elements::<T>()?, step(tall, wide), step(wide, 1)))
        });
        let added = added.transpose()?;
        if *inner != other {
            return Err(format!("{} and {} do not go together", a.shape, b.shape));
        }
        call.spend(rows.saturating_mul(*inner).saturating_mul(columns))?;
        let left = a.elements::<T>()?;
        let room = call.room::<T>(out, shape)?;
        let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
        for (row, room) in room.chunks_exact_mut(columns.max(1)).enumerate() {
            let first = |column: usize| {
                added.map_or(0.0, |(elements, down, along)| {
                    beta * elements[row * down + column * along].double()
                })
            };
            let left = &left[row * inner..][..*inner];
            product(
                left,
                right,
                |_| 0.0,
                |column, sum| {
                    room[column] = T::rounded(alpha * sum + first(column));
                },
            );
        }
        Ok(())
    }
}

impl Operator for Gemm {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        match call.input(0)?.data {
            Data::Doubles(_) => self.numbers::<f64>(call, &mut out[0]),
            _ => self.numbers::<f32>(call, &mut out[0]),
        }
    }
}

impl Weights {
    fn read(from: &Attributes<'_, '_>, outputs: usize) -> Result<Self, Problem> {
        let list = from.floats("coefficients")?;
        let intercepts = from.floats("intercepts")?;
        if list.is_empty() || !list.len().is_multiple_of(outputs) {
            return Err(from.problem("coefficients", "are no rows of one for each output"));
        }
        let features = list.len() / outputs;
        let turned = (0..list.len()).map(|at| list[at % outputs * features + at / outputs]);
        let coefficients = turned.collect();
        match intercepts.len() {
            0 => Ok(Self { features, coefficients, intercepts: vec![0.0; outputs] }),
            count if count == outputs => Ok(Self { features, coefficients, intercepts }),
            _ => Err(from.problem("intercepts", "are not one for each output")),
        }
    }

    fn outputs(&self) -> usize {
        self.intercepts.len()
    }

    /// Writes the sums of each row to the beginning of its `width` scores.
    fn sums(&self, call: &mut Call<'_>, out: &mut Value, width: usize) -> Result<usize, String> {
        let value = call.input(0)?;
        let [rows, features] = *value.shape.sizes() else {
            return Err(format!("rows are wanted, not {}", value.shape));
        };
        if features != self.features {
            return Err(format!("rows of {} numbers are wanted, not {features}", self.features));
        }
        call.spend(rows.saturating_mul(self.coefficients.len()))?;
        let room = call.room::<f32>(out, Shape::of(&[rows, width]))?;
        match &value.data {
            Data::Floats(numbers) => self.write(numbers, room, width),
            Data::Doubles(numbers) => self.write(numbers, room, width),
            Data::Integers(numbers) => self.write(numbers, room, width),
            other => return Err(format!("{} are no numbers", other.plural())),
        }
        Ok(rows)
    }

    fn write<T: Numeric>(&self, rows: &[T], room: &mut [f32], width: usize) {
        let outputs = self.outputs();
        let right = Right {
            elements: &self.coefficients,
            sizes: [self.features, outputs],
            steps: [outputs, 1],
        };
        for (row, room) in rows.chunks_exact(self.features).zip(room.chunks_exact_mut(width)) {
            let first = |output| f64::from(self.intercepts[output]);
            product(row, right, first, |output, sum| room[output] = sum as f32);
        }
    }
}

impl LinearRegressor {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let targets = usize::try_from(from.integer("targets", 1)?).ok();
        let targets = targets.filter(|targets| (1..=OUTPUTS_MAX).contains(targets));
        let targets = targets.ok_or_else(|| from.problem("targets", "is no count of targets"))?;
        Ok(Self { weights: Weights::read(from, targets)?, transform: Transform::read(from)? })
    }
}

impl Operator for LinearRegressor {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let targets = self.weights.outputs();
        self.weights.sums(call, &mut out[0], targets)?;
        let Data::Floats(scores) = &mut out[0].data else { return Ok(()) };
        for scores in scores.chunks_exact_mut(targets) {
            self.transform.apply_to_any(scores);
        }
        Ok(())
    }
}

impl LinearClassifier {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let labels = Labels::read(from, "classlabels_ints", "classlabels_strings")?;
        let outputs = from.floats("intercepts")?.len();
        if outputs == 0 || (outputs != labels.len() && (outputs, labels.len()) != (1, 2)) {
            return Err(from.problem("intercepts", "are not one for each class"));
        }
        let weights = Weights::read(from, outputs)?;
        Ok(Self { weights, labels, transform: Transform::read(from)? })
    }
}

impl Operator for LinearClassifier {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let [labels, scores] = out;
        let (classes, outputs) = (self.labels.len(), self.weights.outputs());
        let rows = self.weights.sums(call, scores, classes)?;
        let Data::Floats(scores) = &mut scores.data else { return Ok(()) };
        let mut labels = self.labels.room(call, labels, rows)?;
        for (row, scores) in scores.chunks_exact_mut(classes).enumerate() {
            labels.write(row, class_of(&scores[..outputs], classes));
            match (scores, outputs) {
                ([first, second], 1) => (*first, *second) = self.pair(*first),
                (scores, _) => self.transform.apply_to_any(scores),
            }
        }
        Ok(())
    }
}

impl LinearClassifier {
    /// Makes the scores of two classes of one sum.
    fn pair(&self, sum: f32) -> (f32, f32) {
        match self.transform {
            Transform::Probit => (probit(sum), 0.0),
            _ => (1.0 - sum, sum),
        }
    }
}

/// The number of the class: of one sum, whether it is positive.
fn class_of(sums: &[f32], classes: usize) -> usize {
    if let [sum] = sums {
        return usize::from(*sum > 0.0).min(classes - 1);
    }
    let mut best = 0;
    for (class, sum) in sums.iter().enumerate() {
        if *sum > sums[best] {
            best = class;
        }
    }
    best
}
