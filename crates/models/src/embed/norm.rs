//! Normalises rows: layer normalisation, softmax, length one.
//!
//! Invariant: sums run in sixteen lanes that are added in a fixed order. So a row gives the same
//! bits whatever stands beside it, on every CPU.
//! A row of zeros stays so under length one, as a row shorter than 1e-12 stays shorter than 1.
//! `to_length_one` is public: crates/serving normalises with it what it keeps or has cut, and gets
//! the same bits as [`super::Embedder`].
//! Softmax takes rows padded to sixteen, and overwrites the padding with numbers of no meaning.
//! `LANES` must stay `LINE` of `dense/tile.rs`, by which `attention.rs` pads.
//! Numbers that are not finite are not refused; `embed.rs` finds those that reach the vector. The
//! exponential is in `dense/activation.rs`.

use multiversion::multiversion;

use crate::dense::activation::exp;

const LANES: usize = 16;

/// The weights of a layer normalisation.
#[derive(Debug)]
pub(super) struct LayerNorm {
    pub(super) gain: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

impl LayerNorm {
    /// Normalises rows in place.
    pub(super) fn apply(&self, rows: &mut [f32]) {
        layer_norm(rows, &self.gain, &self.bias, self.epsilon);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn layer_norm(rows: &mut [f32], gain: &[f32], bias: &[f32], epsilon: f32) {
    let count = gain.len() as f32;
    for row in rows.chunks_exact_mut(gain.len()) {
        let mean = sum(row, |value| value) / count;
        let variance = sum(row, |value| (value - mean) * (value - mean)) / count;
        let scale = 1.0 / (variance + epsilon).sqrt();
        for ((value, gain), bias) in row.iter_mut().zip(gain).zip(bias) {
            *value = ((*value - mean) * scale).mul_add(*gain, *bias);
        }
    }
}

/// Makes of each row's first `count` values, times `scale`, shares that add up to 1. Rows are
/// `pitch` long, a multiple of sixteen; what stands behind the values is overwritten.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn softmax(rows: &mut [f32], pitch: usize, count: usize, scale: f32) {
    for row in rows.chunks_exact_mut(pitch) {
        row[count..].fill(f32::NEG_INFINITY);
        let (lanes, _) = row.as_chunks_mut::<LANES>();
        let mut most = [f32::NEG_INFINITY; LANES];
        for lane in lanes.iter() {
            for (most, value) in most.iter_mut().zip(lane) {
                *most = if *value > *most { *value } else { *most };
            }
        }
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max) * scale;
        let mut sums = [0.0; LANES];
        for lane in lanes.iter_mut() {
            for (sum, value) in sums.iter_mut().zip(lane) {
                // What stands behind becomes 1e-38, too little to change a sum of 1 or more.
                *value = exp(value.mul_add(scale, -most));
                *sum += *value;
            }
        }
        let share = 1.0 / fold(sums);
        lanes.as_flattened_mut().iter_mut().for_each(|value| *value *= share);
    }
}

/// Scales a row to length 1, as [`super::Embedder`] does where vectors are normalised; zeros stay.
pub fn to_length_one(row: &mut [f32]) {
    let length = sum(row, |value| value * value).sqrt().max(1e-12);
    row.iter_mut().for_each(|value| *value /= length);
}

#[inline(always)]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (lanes, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for lane in lanes {
        for (sum, value) in sums.iter_mut().zip(lane) {
            *sum += of(*value);
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += of(*value);
    }
    fold(sums)
}

#[inline(always)]
fn fold(sums: [f32; LANES]) -> f32 {
    let mut sums = sums;
    for half in [8, 4, 2, 1] {
        for index in 0..half {
            sums[index] += sums[index + half];
        }
    }
    sums[0]
}

#[cfg(test)]
mod tests;
