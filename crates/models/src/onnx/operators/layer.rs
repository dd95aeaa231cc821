//! Computes `MatMul` and `Gemm` with a constant matrix of floats on the right: a network's layer.
//!
//! The matrix is packed when the graph is read (`dense.rs`). Sums are floats, each step a fused
//! multiply-add, as in ONNX Runtime; the order of steps may differ from its own. The same row has
//! the same answer to the bit, whatever rows stand beside it.
//! What is added to all rows behind it, and a `Relu`, are part of the layer.
//! Everything else of these operators is in `matmul.rs` and `gemm.rs`, which ask here first.
//! Refuses nothing: what it does not take is `None`.

use crate::dense::{Activation, Dense, Finish, Kernel, Precision, Rounded};
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Following, Operator, OperatorCall};
use crate::onnx::tensor::{Data, Shape, Tensor};

#[derive(Debug)]
pub(super) struct Layer {
    inputs: usize,
    dense: Dense,
    activation: Activation,
}

/// How a layer's constants stand in the node.
pub(super) struct LayerForm {
    /// Whether the matrix has a row for each output.
    pub(super) is_turned: bool,
    /// Whether the third input is added.
    pub(super) is_biased: bool,
}

impl Layer {
    /// Packs the layer of a node, where it is one.
    pub(super) fn read(from: &Attributes<'_, '_>, form: &LayerForm) -> Option<Self> {
        let matrix = from.constant(1)?;
        let ([first, second], Data::Floats(numbers)) = (matrix.shape.sizes(), &matrix.data) else {
            return None;
        };
        let is_floats = matches!(from.kind(0), Some(Data::Floats(_)));
        if !is_floats || numbers.is_empty() || (form.is_biased && !from.is_given(2)) {
            return None;
        }
        let (inputs, outputs) = if form.is_turned { (second, first) } else { (first, second) };
        let bias = match form.is_biased {
            false => vec![0.0; *outputs],
            true => bias(from.constant(2)?, *outputs)?,
        };
        let kernel = Kernel::best(Precision::Single);
        let dense = match form.is_turned {
            true => Dense::new(numbers, &bias, kernel),
            false => Dense::new(&turned(numbers, *outputs), &bias, kernel),
        };
        Some(Self { inputs: *inputs, dense, activation: Activation::None })
    }
}

impl Operator for Layer {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let (rows, inputs) = value.rows();
        if inputs != self.inputs || value.shape.sizes().is_empty() {
            return Err(format!("{} inputs are wanted, not {}", self.inputs, value.shape));
        }
        let outputs = self.dense.outputs();
        call.spend(rows.saturating_mul(inputs).saturating_mul(outputs))?;
        let kept = value.shape.sizes();
        let kept = kept[..kept.len() - 1].iter().copied();
        let room = call.room::<f32>(&mut out[0], Shape::checked(kept.chain([outputs]))?)?;
        let (finish, mut rounded) = (Finish::Write(self.activation), Rounded::default());
        self.dense.apply(value.elements::<f32>()?, finish, &mut rounded, room);
        Ok(())
    }

    fn absorb(&mut self, following: &Following<'_>) -> bool {
        if self.activation != Activation::None {
            return false;
        }
        match following {
            Following::Rectified => self.activation = Activation::Relu,
            Following::Added(value) => {
                let Some(more) = bias(value, self.dense.outputs()) else { return false };
                self.dense.add_bias(&more);
            }
        }
        true
    }
}

/// Returns what is added to each output: one number for each, or for all.
fn bias(value: &Tensor, outputs: usize) -> Option<Vec<f32>> {
    let numbers = value.elements::<f32>().ok()?;
    let is_row = value.shape.sizes().iter().rev().skip(1).all(|size| *size == 1);
    match numbers {
        [one] => Some(vec![*one; outputs]),
        numbers if is_row && numbers.len() == outputs => Some(numbers.to_vec()),
        _ => None,
    }
}

/// Returns a matrix with a row for each of its columns.
fn turned(numbers: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| numbers[column..].iter().step_by(columns)).copied().collect()
}
