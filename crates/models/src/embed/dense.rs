//! Dense layers: rows of numbers times a matrix that was packed when the model was read.
//!
//! A panel holds the weights of up to 48 outputs, input by input, so that a tile of eight rows and
//! 48 outputs is summed in registers while the panel runs through the cache once. A row's sums run
//! over all inputs in order, by fused multiply-add, from zero: an answer is the same to the bit
//! whatever rows stand beside it, and for [`Precision::Single`] on every CPU.
//!
//! With [`Precision::Bf16`] weights and inputs are rounded to bfloat16, two to a number of a panel,
//! and summed in f32 by AVX-512's own instruction.
//!
//! Figures: docs/DECISIONS.md.

use multiversion::multiversion;

use super::activation::Activation;

#[cfg(target_arch = "x86_64")]
mod vector;

/// Outputs side by side in memory: a cache line, one register of AVX-512.
pub(super) const LINE: usize = 16;

/// Rows of a tile, at most.
pub(super) const ROWS: usize = 8;

/// Lines of a tile's row, at most.
const LINES: usize = 3;

/// Numbers that lie on one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [f32; LINE]);

/// Sums of up to eight rows; of a narrow panel each row's first line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Tile(pub(super) [[f32; LINE * LINES]; ROWS]);

/// In what numbers a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    Single,
    /// Weights and inputs of dense layers as bfloat16, sums and the rest in 32-bit floats; where
    /// the CPU cannot, as [`Self::Single`].
    Bf16,
}

/// What sums tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
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
pub(super) enum Finish {
    /// They are written, after the activation.
    Write(Activation),
    /// They are added to what stands there.
    Add,
}

/// A packed matrix with its biases.
#[derive(Debug)]
pub(super) struct Dense {
    kernel: Kernel,
    inputs: usize,
    outputs: usize,
    panels: Vec<Line>,
    /// Padded to whole panels.
    bias: Vec<f32>,
}

impl Tile {
    pub(super) fn new() -> Self {
        Self([[0.0; LINE * LINES]; ROWS])
    }
}

impl Kernel {
    /// Returns the best that this CPU has.
    pub(super) fn best(precision: Precision) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if precision == Precision::Bf16 && vector::bf16::is_available() {
                return Self::Avx512Bf16;
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

    pub(super) fn precision(self) -> Precision {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => Precision::Bf16,
            _ => Precision::Single,
        }
    }

    /// Returns how many rows a tile has, at most.
    pub(super) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 | Self::Avx512 => 8,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 6,
            Self::Portable => 4,
        }
    }

    /// Returns how many lines a wide panel has for each input.
    fn lines(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 | Self::Avx512 => LINES,
            _ => 1,
        }
    }

    /// Sums the products of rows, all of one length, and of a panel that has `lines` lines, one or
    /// those of a wide one, for each number of a row.
    #[inline]
    pub(super) fn sum(self, rows: &[&[f32]], panel: &[Line], lines: usize, tile: &mut Tile) {
        match (self, lines) {
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

fn sum_anywhere(rows: &[&[f32]], panel: &[Line], tile: &mut Tile) {
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
    pub(super) fn new(weights: &[f32], bias: &[f32], kernel: Kernel) -> Self {
        let outputs = bias.len();
        let inputs = weights.len() / outputs.max(1);
        let lines = kernel.lines();
        let width = lines * LINE;
        let depth = kernel.depth(inputs);
        let mut panels = vec![Line::default(); outputs.div_ceil(width) * lines * depth];
        let mut packed = Vec::with_capacity(depth);
        for (output, weights) in weights.chunks_exact(inputs).enumerate() {
            packed.clear();
            kernel.add_packed(weights, inputs, &mut packed);
            let panel = output / width * lines * depth + output % width / LINE;
            for (input, weight) in packed.iter().enumerate() {
                panels[panel + input * lines].0[output % LINE] = *weight;
            }
        }
        let mut padded = bias.to_vec();
        padded.resize(outputs.next_multiple_of(width), 0.0);
        Self { kernel, inputs, outputs, panels, bias: padded }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.panels.as_slice()) + size_of_val(self.bias.as_slice())
    }

    /// Writes the outputs of each row of inputs; `packed` is where inputs are rounded to.
    pub(super) fn apply(
        &self,
        inputs: &[f32],
        finish: Finish,
        packed: &mut Vec<f32>,
        out: &mut [f32],
    ) {
        let depth = self.kernel.depth(self.inputs);
        let inputs = match self.kernel.precision() {
            Precision::Single => inputs,
            Precision::Bf16 => {
                packed.clear();
                self.kernel.add_packed(inputs, self.inputs, packed);
                packed.as_slice()
            }
        };
        let (rows_max, lines) = (self.kernel.rows(), self.kernel.lines());
        let mut tile = Tile::new();
        for (number, panel) in self.panels.chunks_exact(depth * lines).enumerate() {
            let first = number * lines * LINE;
            let width = (self.outputs - first).min(lines * LINE);
            let bias = &self.bias[first..][..lines * LINE];
            let blocks = inputs.chunks(rows_max * depth);
            for (block, out) in blocks.zip(out.chunks_mut(rows_max * self.outputs)) {
                let mut rows = [&block[..0]; ROWS];
                let count = block.len() / depth;
                rows.iter_mut().zip(block.chunks_exact(depth)).for_each(|(to, row)| *to = row);
                self.kernel.sum(&rows[..count], panel, lines, &mut tile);
                let sums = &mut tile.0[..count];
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
    /// Returns how many numbers of a panel so many inputs take.
    fn depth(self, inputs: usize) -> usize {
        match self.precision() {
            Precision::Single => inputs,
            Precision::Bf16 => inputs.div_ceil(2),
        }
    }

    /// Adds rows of so many inputs as the kernel takes them.
    fn add_packed(self, values: &[f32], inputs: usize, packed: &mut Vec<f32>) {
        match self.precision() {
            Precision::Single => packed.extend_from_slice(values),
            Precision::Bf16 => add_pairs(values, inputs, packed),
        }
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

/// Rounds rows of an even or odd length to pairs of bfloat16, the first one in the lower half.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn add_pairs(values: &[f32], inputs: usize, packed: &mut Vec<f32>) {
    for row in values.chunks_exact(inputs) {
        let (pairs, rest) = row.as_chunks::<2>();
        let pair = |low: f32, high: f32| f32::from_bits(bf16(high) << 16 | bf16(low));
        packed.extend(pairs.iter().map(|[low, high]| pair(*low, *high)));
        packed.extend(rest.iter().map(|last| pair(*last, 0.0)));
    }
}

/// Rounds a finite number to the nearest bfloat16, to the even one between two.
#[inline(always)]
fn bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

#[cfg(test)]
mod tests;
