//! Makes versions of `model.safetensors` by changing the biases of one layer.
//!
//! Refuses: to read or write any other tensor.

use anyhow::{Context, Result};
use serde_json::Value;

/// The file of the weights.
pub(super) const WEIGHTS: &str = "model.safetensors";
/// The tensor whose numbers are changed; its name may have a prefix.
const BIASES: &str = "embeddings.LayerNorm.bias";
/// From the beginning to the header.
const LENGTH_BYTES: usize = 8;

/// Returns the weights of a version; version 0 is as it was.
///
/// # Errors
/// When the file has no such tensor of floats.
pub(super) fn biased(file: Vec<u8>, version: usize) -> Result<Vec<u8>> {
    changed(file, |place, bias| bias + version as f32 * 0.1 * ((place % 7) as f32 - 3.0))
}

/// Returns weights of which one is no number.
///
/// # Errors
/// As [`biased`].
pub(super) fn without_a_number(file: Vec<u8>) -> Result<Vec<u8>> {
    changed(file, |place, bias| if place == 3 { f32::NAN } else { bias })
}

fn changed(mut file: Vec<u8>, change: impl Fn(usize, f32) -> f32) -> Result<Vec<u8>> {
    let length = file.first_chunk::<LENGTH_BYTES>().context("the weights are empty")?;
    let start = LENGTH_BYTES + u64::from_le_bytes(*length) as usize;
    let header = file.get(LENGTH_BYTES..start).context("the header is cut")?;
    let header: Value = serde_json::from_slice(header).context("the header")?;
    let tensors = header.as_object().context("the header is no object")?;
    let about =
        tensors.iter().find(|(name, about)| name.ends_with(BIASES) && about["dtype"] == "F32");
    let (_, about) = about.with_context(|| format!("no floats `{BIASES}`"))?;
    let offset = |at: usize| about["data_offsets"][at].as_u64().map(|it| start + it as usize);
    let range = offset(0).context("no offset")?..offset(1).context("no offset")?;
    let biases = file.get_mut(range).context("the tensor is cut")?;
    for (place, bias) in biases.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *bias = change(place, f32::from_le_bytes(*bias)).to_le_bytes();
    }
    Ok(file)
}
