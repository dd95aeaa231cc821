//! Reads the value of the node `Constant`, which is no operator: it is known when the graph is
//! read.
//!
//! Before version 12 only `value` is read; since then also `value_float`, `value_int`, and the
//! lists of these two. Texts stand in `value` only.
//! Refuses: `value_string`, `value_strings` and `sparse_value`, and more than one value. `graph.rs`
//! calls this by name, beside the table of `operators.rs`.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::operators::check_opset;
use crate::onnx::tensor::{Data, Shape, Tensor};

/// Reads the value of the node `Constant`.
pub(in crate::onnx) fn constant(from: &mut Attributes<'_, '_>) -> Result<Tensor, Problem> {
    check_opset(from)?;
    let value = value(from)?;
    from.finish()?;
    Ok(value)
}

fn value(from: &mut Attributes<'_, '_>) -> Result<Tensor, Problem> {
    if let Some(value) = from.tensor("value")? {
        return Ok(value);
    }
    if from.opset < 12 {
        from.finish()?;
        return Err(from.problem("value", "is not given"));
    }
    let data = if from.has("value_float") {
        Data::Floats(vec![from.float("value_float", 0.0)?])
    } else if from.has("value_int") {
        Data::Integers(vec![from.integer("value_int", 0)?])
    } else if from.has("value_floats") {
        Data::Floats(from.floats("value_floats")?)
    } else if from.has("value_ints") {
        Data::Integers(from.integers("value_ints")?)
    } else {
        from.finish()?;
        return Err(from.problem("value", "is not given"));
    };
    let is_list = from.has("value_floats") || from.has("value_ints");
    let shape = if is_list { Shape::of(&[data.len()]) } else { Shape::of(&[]) };
    Tensor::new(shape, data).map_err(|reason| from.problem("value", &reason))
}
