//! Makes classes of an output, as Triton's extension `classification` asks for them.
//!
//! Each class is a text `VALUE:INDEX`, and `:LABEL` behind it where the model names its columns, as
//! graphs with a classifier or `ZipMap` do.
//! The largest value of a row stands first; of equal ones, the lower index. A value has six digits
//! behind the point, as Triton writes it, integers none. More classes than there are columns are as
//! many as there are.
//! Refuses: outputs of texts and of truths, as Triton does.
//! Source: Triton's `protocol/extension_classification.md`.

use crate::json::Parsed;
use crate::refusal;
use crate::tensor::{Data, Datatype, Tensor};

/// Returns the `count` classes of each row with the largest values.
///
/// # Errors
/// 400 for an output that has no classes.
pub(crate) fn classes_of(output: &Tensor, count: usize, labels: &[String]) -> Parsed<Tensor> {
    let Tensor { name, datatype, shape, data } = output;
    let numbers = match data {
        Data::Numbers(numbers) if *datatype != Datatype::Bool => numbers,
        _ => {
            let reason = format!("output `{name}` is {}; it has no classes", datatype.name());
            return Err(refusal::bad(reason));
        }
    };
    let rows = shape.first().copied().unwrap_or(1);
    let width = shape.get(1..).unwrap_or_default().iter().product::<usize>();
    let count = count.min(width);
    let mut texts = Vec::with_capacity(rows * count);
    let mut order: Vec<usize> = Vec::with_capacity(width);
    for row in numbers.chunks_exact(width.max(1)) {
        order.clear();
        order.extend(0..width);
        // NaN is no value that could be the largest.
        let rank = |index: &usize| if row[*index].is_nan() { f64::MIN } else { row[*index] };
        order.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        texts.extend(order[..count].iter().map(|index| {
            let value = match datatype {
                Datatype::Fp32 => format!("{:.6}", row[*index] as f32),
                Datatype::Fp64 => format!("{:.6}", row[*index]),
                _ => row[*index].to_string(),
            };
            match labels.get(*index) {
                Some(label) => format!("{value}:{index}:{label}"),
                None => format!("{value}:{index}"),
            }
        }));
    }
    let shape = vec![rows, count];
    Ok(Tensor { name: name.clone(), datatype: Datatype::Bytes, shape, data: Data::Texts(texts) })
}
