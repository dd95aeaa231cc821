//! Computes `Gemm`: `alpha * A * B + beta * C` of floats or doubles.
//!
//! A constant matrix of floats is a layer of a network (`layer.rs`), where nothing is scaled. Else
//! sums are taken in doubles (`product.rs`), and the result is rounded once. C is repeated to the
//! shape of the result.
//! Refuses: `transA`, integers, and matrices of other than two dimensions.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use super::layer::{Layer, LayerForm};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::broadcast;
use crate::onnx::numeric::Numeric;
use crate::onnx::product::{Right, product};
use crate::onnx::tensor::{Data, Shape, Tensor};

/// `alpha * A * B + beta * C`.
#[derive(Debug)]
struct Gemm {
    alpha: f32,
    beta: f32,
    is_b_turned: bool,
}

/// Reads a product; one with constants that is neither scaled nor weighed is packed as a layer.
pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    let gemm = Gemm::read(from)?;
    let is_biased = from.is_given(2);
    let is_plain = gemm.alpha == 1.0 && (gemm.beta == 1.0 || !is_biased);
    let form = LayerForm { is_turned: gemm.is_b_turned, is_biased };
    match Layer::read(from, &form).filter(|_| is_plain) {
        Some(layer) => Ok(Box::new(layer)),
        None => Ok(Box::new(gemm)),
    }
}

impl Gemm {
    fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        if from.flag("transA", false)? {
            return Err(from.problem("transA", "is not supported"));
        }
        Ok(Self {
            alpha: from.float("alpha", 1.0)?,
            beta: from.float("beta", 1.0)?,
            is_b_turned: from.flag("transB", false)?,
        })
    }

    fn numbers<T: Numeric>(
        &self,
        call: &mut OperatorCall<'_>,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let ([rows, inner], [b_rows, b_columns]) = (a.shape.sizes(), b.shape.sizes()) else {
            return Err(format!("{} by {} is not supported", a.shape, b.shape));
        };
        let right = match self.is_b_turned {
            true => ([*b_columns, *b_rows], [1, *b_columns]),
            false => ([*b_rows, *b_columns], [*b_columns, 1]),
        };
        let right = Right { elements: b.elements::<T>()?, sizes: right.0, steps: right.1 };
        let [other, columns] = right.sizes;
        let shape = Shape::checked([*rows, columns])?;
        let added = call.find(2).map(|value| -> Result<_, String> {
            if broadcast(shape, value.shape)? != shape {
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
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        match call.input(0)?.data {
            Data::Doubles(_) => self.numbers::<f64>(call, &mut out[0]),
            _ => self.numbers::<f32>(call, &mut out[0]),
        }
    }
}
