//! Item features packed for scanning: rows of f32, padded to whole lanes, aligned.
//!
//! Rows, not columns, were chosen by measuring (docs/DECISIONS.md): ids of a request are scattered,
//! and a row of 50 features is 4 cache lines where columns would touch 50.
//!
//! Products are summed in f64, 8 running sums per row, always in the same order and without fused
//! multiply-add, so that a score is the same to the bit on every CPU and for every way of naming
//! the candidates.
//!
//! Invariant: padding is 0, so it adds nothing.

use multiversion::multiversion;

/// f32 values per lane: half a cache line, one f64 register of AVX-512.
pub(crate) const WIDTH: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(crate) struct Lane([f32; WIDTH]);

/// Weights of one request, in the order of a row.
pub(crate) type Weights = Vec<[f64; WIDTH]>;

/// A row-major matrix of f32.
#[derive(Debug)]
pub(crate) struct Matrix {
    lanes: Vec<Lane>,
    lanes_per_row: usize,
}

impl Matrix {
    /// Packs columns of equal length into rows.
    pub(crate) fn from_columns(columns: &[Vec<f32>], rows: usize) -> Self {
        let lanes_per_row = columns.len().div_ceil(WIDTH);
        let mut lanes = vec![Lane::default(); lanes_per_row * rows];
        for (index, column) in columns.iter().enumerate() {
            for (row, value) in column.iter().enumerate() {
                lanes[row * lanes_per_row + index / WIDTH].0[index % WIDTH] = *value;
            }
        }
        Self { lanes, lanes_per_row }
    }

    pub(crate) fn lanes_per_row(&self) -> usize {
        self.lanes_per_row
    }

    pub(crate) fn value(&self, row: u32, column: usize) -> f32 {
        self.lanes[row as usize * self.lanes_per_row + column / WIDTH].0[column % WIDTH]
    }

    /// Adds `weights · row` to the score of each of `rows`.
    pub(crate) fn add(&self, weights: &Weights, rows: &[u32], scores: &mut [f64]) {
        if self.lanes_per_row > 0 {
            add_rows(&self.lanes, weights, rows, scores);
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw", "x86_64+avx2"))]
fn add_rows(lanes: &[Lane], weights: &[[f64; WIDTH]], rows: &[u32], scores: &mut [f64]) {
    let per_row = weights.len();
    for (row, score) in rows.iter().zip(scores) {
        let start = *row as usize * per_row;
        let mut sums = [0.0_f64; WIDTH];
        for (lane, weight) in lanes[start..start + per_row].iter().zip(weights) {
            for index in 0..WIDTH {
                sums[index] += f64::from(lane.0[index]) * weight[index];
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        *score += ((a + e) + (c + g)) + ((b + f) + (d + h));
    }
}
