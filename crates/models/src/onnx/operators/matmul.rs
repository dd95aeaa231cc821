//! Computes `MatMul` of floats or doubles: rows of any dimensions by a matrix or a list.
//!
//! A constant matrix of floats is a layer of a network (`layer.rs`). Else sums are taken in doubles
//! (`product.rs`) and rounded once.
//! Refuses: integers, and a right side of three dimensions or more.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use super::layer::{Layer, LayerForm};
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::numeric::Numeric;
use crate::onnx::product::{Right, product};
use crate::onnx::tensor::{Data, Shape, Tensor};

#[derive(Debug)]
struct MatMul;

/// Reads a product; one with constants is packed as a layer.
pub(super) fn read(from: &Attributes<'_, '_>) -> Box<dyn Operator> {
    match Layer::read(from, &LayerForm { is_turned: false, is_biased: false }) {
        Some(layer) => Box::new(layer),
        None => Box::new(MatMul),
    }
}

impl Operator for MatMul {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let pair = (call.input(0)?, call.input(1)?);
        match pair.0.data {
            Data::Doubles(_) => matmul::<f64>(call, pair, &mut out[0]),
            _ => matmul::<f32>(call, pair, &mut out[0]),
        }
    }
}

fn matmul<T: Numeric>(
    call: &mut OperatorCall<'_>,
    (a, b): (&Tensor, &Tensor),
    out: &mut Tensor,
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
