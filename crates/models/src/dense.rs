//! Computes dense layers, of encoders and of ONNX graphs: rows of numbers times a matrix that was
//! packed when the model was read.
//!
//! A panel holds the weights of 48 or 16 outputs, input by input. A tile of up to eight rows, as
//! wide as the panel, is summed in registers, while the panel runs through the cache once. The CPU
//! decides the sizes; the last outputs stand in narrow panels where that is less. With
//! [`Precision::Bf16`] and [`Precision::Int8`] weights and inputs are rounded (`rounded.rs`), and
//! summed by AVX-512's instructions for them. Where the CPU lacks these, [`Precision::Single`] is
//! used instead. Figures: docs/decisions/models.md.
//!
//! Invariant: a row's sums run over all inputs in order, from zero; then the bias is added. So an
//! answer is the same to the bit whatever rows stand beside it. For [`Precision::Single`] each step
//! is a fused multiply-add, and the answer is also the same on every CPU.
//! Shapes are checked by `embed/encoder.rs` and `onnx/operators/layer.rs`. A new kernel also goes
//! into `dense/vector.rs`; `tile.rs` bounds its rows and lines. A panel of more than 48 outputs
//! needs a larger `WORTH` in the fuzz target `embed_dir`. A new precision goes into `config.rs` and
//! `tei.rs` of crates/serving, the command line, and docs/MODELS.md.

use multiversion::multiversion;

pub(crate) mod activation;
mod rounded;
pub(crate) mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;

pub(crate) use activation::Activation;
pub(crate) use rounded::Rounded;

use rounded::{RowScale, WeightScale};
use tile::{CacheLine, LINE, LINES, ROWS, Tile};

use crate::pause::pause;

/// In what numbers a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    Single,
    /// Weights and inputs of dense layers as bfloat16, sums and the rest in 32-bit floats; where
    /// the CPU cannot, as [`Self::Single`].
    Bf16,
    /// Weights and inputs of dense layers as bytes, the rest in 32-bit floats. The inputs of each
    /// token have their own scale. Where the CPU cannot, as [`Self::Single`].
    Int8,
}

/// What sums tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Fours of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512Int8,
    /// Pairs of bfloat16.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Whatever the compiler makes of it; slow without fused multiply-add (x86-64 before 2013).
    Portable,
}

/// What becomes of the sums of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// They are written, after the activation.
    Write(Activation),
    /// They are added to what stands there.
    Add,
}

/// A packed matrix with its biases.
#[derive(Debug)]
pub(crate) struct Dense {
    kernel: Kernel,
    inputs: usize,
    outputs: usize,
    panels: Vec<Panel>,
    lines: Vec<CacheLine>,
    /// Padded to whole panels.
    bias: Vec<f32>,
    /// The scale of each output, padded likewise.
    weights: Vec<WeightScale>,
}

/// Where the weights of some outputs stand.
#[derive(Debug, Clone, Copy)]
struct Panel {
    /// The first of its outputs.
    output: usize,
    /// Lines that it has for each input.
    width: usize,
    /// Its first line.
    start: usize,
}

impl Kernel {
    /// Returns the best that this CPU has.
    pub(crate) fn best(precision: Precision) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if precision == Precision::Bf16 && vector::bf16::is_available() {
                return Self::Avx512Bf16;
            }
            if precision == Precision::Int8 && vector::int8::is_available() {
                return Self::Avx512Int8;
            }
            if vector::avx512::is_available() {
                return Self::Avx512;
            }
            if vector::avx2::is_available() {
                return Self::Avx2;
            }
        }
        let _ = precision;
        Self::Portable
    }

    pub(crate) fn precision(self) -> Precision {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => Precision::Bf16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Int8 => Precision::Int8,
            _ => Precision::Single,
        }
    }

    /// Returns how many rows a tile has, at most.
    pub(crate) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Int8 | Self::Avx512Bf16 | Self::Avx512 => 8,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 6,
            Self::Portable => 4,
        }
    }

    /// Returns how many lines a wide panel has for each input.
    fn lines(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Int8 | Self::Avx512Bf16 | Self::Avx512 => LINES,
            _ => 1,
        }
    }

    /// Sums the products of rows, all of one length, with a panel. For each number of a row the
    /// panel has `lines` lines: one, or those of a wide panel.
    #[inline]
    pub(crate) fn sum(self, rows: &[&[f32]], panel: &[CacheLine], lines: usize, tile: &mut Tile) {
        match (self, lines) {
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512Int8, LINES) => vector::int8::sum::<LINES>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512Int8, _) => vector::int8::sum::<1>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512Bf16, LINES) => vector::bf16::sum::<LINES>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512Bf16, _) => vector::bf16::sum::<1>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512, LINES) => vector::avx512::sum::<LINES>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512, _) => vector::avx512::sum::<1>(rows, panel, tile),
            #[cfg(target_arch = "x86_64")]
            (Self::Avx2, _) => vector::avx2::sum::<2>(rows, panel, tile),
            (Self::Portable, _) => sum_anywhere(rows, panel, tile),
        }
    }
}

fn sum_anywhere(rows: &[&[f32]], panel: &[CacheLine], tile: &mut Tile) {
    for (row, tile) in rows.iter().zip(&mut tile.0) {
        let mut sums = [0.0; LINE];
        for (value, line) in row.iter().zip(panel) {
            for (sum, weight) in sums.iter_mut().zip(line.0) {
                *sum = value.mul_add(weight, *sum);
            }
        }
        tile[..LINE].copy_from_slice(&sums);
    }
}

impl Dense {
    /// Packs weights, `inputs` numbers per output as PyTorch's `Linear` has them, and biases.
    pub(crate) fn new(weights: &[f32], bias: &[f32], kernel: Kernel) -> Self {
        let outputs = bias.len();
        let inputs = weights.len() / outputs.max(1);
        let depth = kernel.depth(inputs);
        let panels = kernel.panels(outputs, depth);
        let padded = panels.iter().map(|panel| panel.width * LINE).sum();
        let mut lines = vec![CacheLine::default(); padded / LINE * depth];
        let mut packed = Vec::with_capacity(depth);
        let mut scales = Vec::with_capacity(padded);
        let mut rows = weights.chunks_exact(inputs);
        for Panel { width, start, .. } in &panels {
            for (place, weights) in rows.by_ref().take(width * LINE).enumerate() {
                packed.clear();
                scales.push(kernel.add_weights(weights, &mut packed));
                for (input, weight) in packed.iter().enumerate() {
                    lines[start + input * width + place / LINE].0[place % LINE] = *weight;
                }
            }
        }
        let mut bias = bias.to_vec();
        bias.resize(padded, 0.0);
        scales.resize(padded, WeightScale::default());
        Self { kernel, inputs, outputs, panels, lines, bias, weights: scales }
    }

    /// Adds to the biases; `more` is one number for each output.
    pub(crate) fn add_bias(&mut self, more: &[f32]) {
        self.bias.iter_mut().zip(more).for_each(|(bias, more)| *bias += more);
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.lines.as_slice()) + size_of_val(self.bias.as_slice())
    }

    /// Writes the outputs of each row of inputs; `rounded` is where inputs are rounded to.
    pub(crate) fn apply(
        &self,
        inputs: &[f32],
        finish: Finish,
        rounded: &mut Rounded,
        out: &mut [f32],
    ) {
        match self.kernel.precision() {
            Precision::Single => return self.apply_rounded(inputs, &[], finish, out),
            Precision::Bf16 => rounded.take_pairs(inputs, self.inputs),
            Precision::Int8 => rounded.take_bytes(inputs, self.inputs),
        }
        self.apply_rounded(&rounded.numbers, &rounded.rows, finish, out);
    }

    /// Writes the outputs of rows of inputs as the kernel takes them, which have a scale as bytes.
    fn apply_rounded(&self, inputs: &[f32], scales: &[RowScale], finish: Finish, out: &mut [f32]) {
        let depth = self.kernel.depth(self.inputs);
        let rows_max = self.kernel.rows();
        let mut tile = Tile::new();
        for Panel { output: first, width: lines, start } in self.panels.iter().copied() {
            pause();
            let panel = &self.lines[start..][..depth * lines];
            let width = (self.outputs - first).min(lines * LINE);
            let bias = &self.bias[first..][..lines * LINE];
            let blocks = inputs.chunks(rows_max * depth);
            let outs = out.chunks_mut(rows_max * self.outputs);
            for (start, (block, out)) in (0..).step_by(rows_max).zip(blocks.zip(outs)) {
                let mut rows = [&block[..0]; ROWS];
                let count = block.len() / depth;
                rows.iter_mut().zip(block.chunks_exact(depth)).for_each(|(to, row)| *to = row);
                self.kernel.sum(&rows[..count], panel, lines, &mut tile);
                let sums = &mut tile.0[..count];
                if let Some(scales) = scales.get(start..start + count) {
                    rounded::rescale(sums, scales, &self.weights[first..][..lines * LINE]);
                }
                let out = out.chunks_exact_mut(self.outputs).map(|row| &mut row[first..][..width]);
                match finish {
                    Finish::Write(activation) => {
                        activate(sums, bias, activation);
                        out.zip(sums).for_each(|(out, sums)| out.copy_from_slice(&sums[..width]));
                    }
                    Finish::Add => out.zip(sums).for_each(|(out, sums)| add(sums, bias, out)),
                }
            }
        }
    }
}

impl Kernel {
    /// Parts outputs among panels of so many numbers: wide ones while these are not wider than
    /// narrow ones would be.
    fn panels(self, outputs: usize, depth: usize) -> Vec<Panel> {
        let (mut panels, mut output, mut start) = (Vec::new(), 0, 0);
        while output < outputs {
            let wide = self.lines();
            let is_wide = (outputs - output).div_ceil(LINE) >= wide;
            let width = if is_wide { wide } else { 1 };
            panels.push(Panel { output, width, start });
            output += width * LINE;
            start += width * depth;
        }
        panels
    }

    /// Returns how many numbers of a panel so many inputs take.
    fn depth(self, inputs: usize) -> usize {
        match self.precision() {
            Precision::Single => inputs,
            Precision::Bf16 => inputs.div_ceil(2),
            Precision::Int8 => inputs.div_ceil(4),
        }
    }

    /// Adds the weights of an output as the kernel takes them; bytes have a scale.
    fn add_weights(self, values: &[f32], numbers: &mut Vec<f32>) -> WeightScale {
        match self.precision() {
            Precision::Single => numbers.extend_from_slice(values),
            Precision::Bf16 => rounded::add_pairs(values, values.len(), numbers),
            Precision::Int8 => return rounded::add_weights(values, numbers),
        }
        WeightScale::default()
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn activate(sums: &mut [[f32; LINE * LINES]], bias: &[f32], activation: Activation) {
    for sums in sums {
        let sums = &mut sums[..bias.len()];
        sums.iter_mut().zip(bias).for_each(|(sum, bias)| *sum += bias);
        activation.apply(sums);
    }
}

#[inline]
fn add(sums: &[f32], bias: &[f32], out: &mut [f32]) {
    for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
        *out += sum + bias;
    }
}

#[cfg(test)]
mod tests;
