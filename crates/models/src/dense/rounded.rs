//! Rounds inputs and weights to fewer bits, packed so that a kernel's splat takes several at once.
//!
//! bfloat16: two to a number of a panel, each rounded to the nearest, ties to even. Bytes: four to
//! a number. The weights of an output are rounded to -127..=127. A row of inputs is rounded to
//! 0..=255 between its own least and most, 0 included; 0 stays exactly 0.
//!
//! Invariants: no other row changes how a row is rounded. Sums of products of bytes are whole
//! numbers, so they are exact; [`rescale`] makes floats of them. They fit 32 bits up to 65,536
//! inputs, which `embed/settings.rs` bounds.
//! The instructions of `dense/vector.rs` fix the packing: unsigned inputs, signed weights, the
//! first in the lowest bits. How near vectors stay to those of floats is said in docs/MODELS.md.
//! Weights are finite (`embed/tensors.rs`). An input that is not finite gives a number of no
//! meaning here.

use multiversion::multiversion;

use crate::dense::tile::{LINE, LINES};

/// Added to a float below 2^22, it leaves the nearest whole number in the last bits.
const TO_WHOLE: f32 = 12_582_912.0;

/// Inputs as a kernel takes them; buffers kept from one layer to the next.
#[derive(Debug, Default)]
pub(crate) struct Rounded {
    pub(super) numbers: Vec<f32>,
    pub(super) rows: Vec<RowScale>,
    bytes: Vec<u8>,
}

/// What the bytes of a row of inputs stand for: `(byte - zero) * step`.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowScale {
    step: f32,
    zero: i32,
}

/// What the bytes of an output's weights stand for: `byte * step`; and their sum.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WeightScale {
    step: f32,
    sum: i32,
}

impl Rounded {
    /// Takes rows of so many floats as pairs of bfloat16.
    pub(super) fn take_pairs(&mut self, values: &[f32], width: usize) {
        self.numbers.clear();
        add_pairs(values, width, &mut self.numbers);
    }

    /// Takes rows of so many floats as bytes, each row with its scale.
    pub(super) fn take_bytes(&mut self, values: &[f32], width: usize) {
        self.numbers.clear();
        self.rows.clear();
        self.bytes.resize(width.next_multiple_of(4), 0);
        for row in values.chunks_exact(width) {
            self.rows.push(round_row(row, &mut self.bytes[..width]));
            add_fours(&self.bytes, &mut self.numbers);
        }
    }
}

/// Adds the weights of an output as bytes.
pub(super) fn add_weights(values: &[f32], numbers: &mut Vec<f32>) -> WeightScale {
    let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let step = if most > 0.0 { most / 127.0 } else { 1.0 };
    let round = |value: &f32| (value / step).round_ties_even() as i8;
    let mut bytes: Vec<u8> = values.iter().map(|value| round(value) as u8).collect();
    let sum = bytes.iter().map(|byte| i32::from(*byte as i8)).sum();
    bytes.resize(values.len().next_multiple_of(4), 0);
    add_fours(&bytes, numbers);
    WeightScale { step, sum }
}

/// Makes floats of the whole sums of a tile's rows, which stand there as bits.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn rescale(
    sums: &mut [[f32; LINE * LINES]],
    rows: &[RowScale],
    weights: &[WeightScale],
) {
    for (sums, row) in sums.iter_mut().zip(rows) {
        for (sum, weights) in sums.iter_mut().zip(weights) {
            // 255 * 127 * 65,536 inputs, the most there are, fit 31 bits.
            let whole = (sum.to_bits() as i32).wrapping_sub(row.zero.wrapping_mul(weights.sum));
            *sum = whole as f32 * (row.step * weights.step);
        }
    }
}

/// Rounds a row to bytes; what is 0 stays exactly 0.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn round_row(row: &[f32], bytes: &mut [u8]) -> RowScale {
    let (lanes, rest) = row.as_chunks::<LINE>();
    let (mut least, mut most) = ([0.0_f32; LINE], [0.0_f32; LINE]);
    for lane in lanes {
        for index in 0..LINE {
            least[index] = if lane[index] < least[index] { lane[index] } else { least[index] };
            most[index] = if lane[index] > most[index] { lane[index] } else { most[index] };
        }
    }
    let least = least.iter().chain(rest).copied().fold(0.0, f32::min);
    let most = most.iter().chain(rest).copied().fold(0.0, f32::max);
    let range = most - least;
    let step = if range > 0.0 { range / 255.0 } else { 1.0 };
    let (inverse, zero) = (1.0 / step, (-least / step).round_ties_even());
    for (byte, value) in bytes.iter_mut().zip(row) {
        let place = value.mul_add(inverse, zero);
        let place = if place > 0.0 { place } else { 0.0 };
        let place = if place < 255.0 { place } else { 255.0 };
        *byte = (place + TO_WHOLE).to_bits() as u8;
    }
    RowScale { step, zero: zero as i32 }
}

/// Adds bytes four by four, the first one in the lowest bits.
fn add_fours(bytes: &[u8], numbers: &mut Vec<f32>) {
    let (fours, _) = bytes.as_chunks::<4>();
    numbers.extend(fours.iter().map(|four| f32::from_bits(u32::from_le_bytes(*four))));
}

/// Adds rows of floats as pairs of bfloat16, the first one in the lower half.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_pairs(values: &[f32], width: usize, numbers: &mut Vec<f32>) {
    for row in values.chunks_exact(width) {
        let (pairs, rest) = row.as_chunks::<2>();
        let pair = |low: f32, high: f32| f32::from_bits(bf16(high) << 16 | bf16(low));
        numbers.extend(pairs.iter().map(|[low, high]| pair(*low, *high)));
        numbers.extend(rest.iter().map(|last| pair(*last, 0.0)));
    }
}

/// Rounds a finite number to the nearest bfloat16.
#[inline(always)]
fn bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16
}

#[cfg(test)]
mod tests;
