//! Packs item features for scanning (rows of f32, padded to whole lanes, aligned), and multiplies
//! them with weights.
//!
//! Rows were chosen over columns by measuring (docs/decisions/models.md). The ids of a request are
//! scattered: a row of 50 features is 4 cache lines where columns would touch 50. Rows that are
//! known beforehand are packed eight by eight. Then one instruction works on eight rows, and
//! nothing is summed across a register.
//!
//! Invariants: products are summed in f64, in 8 running sums per row, always in the same order and
//! without fused multiply-add. So a sum is the same to the bit on every CPU, however the candidates
//! are named. Padding is 0, so it adds nothing.
//! Both ways of scanning, and `matrix/avx512.rs`, must be changed together.
//! Never here: which columns a matrix has (`joined.rs`) and how an f64 becomes f32 (`column.rs`). A
//! row that does not exist panics.

use multiversion::multiversion;

#[cfg(target_arch = "x86_64")]
mod avx512;
mod lane;

pub(crate) use lane::WIDTH;

use lane::Lane;

/// Weights of one request, in the order of a row.
pub(crate) type RequestWeights = Vec<[f64; WIDTH]>;

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

    /// Copies `rows`, in their order, eight by eight.
    pub(crate) fn pack(&self, rows: &[u32]) -> Packed {
        let mut lanes = Vec::with_capacity(rows.len().div_ceil(WIDTH) * self.lanes_per_row * WIDTH);
        for eight in rows.chunks(WIDTH) {
            for column in 0..self.lanes_per_row * WIDTH {
                let mut lane = Lane::default();
                for (value, row) in lane.0.iter_mut().zip(eight) {
                    *value = self.value(*row, column);
                }
                lanes.push(lane);
            }
        }
        Packed { lanes, columns: self.lanes_per_row * WIDTH }
    }

    /// Adds `weights · row` to the score of each of `rows`.
    pub(crate) fn add(&self, weights: &RequestWeights, rows: &[u32], scores: &mut [f64]) {
        if self.lanes_per_row > 0 {
            add_rows(&self.lanes, weights, rows, scores);
        }
    }
}

/// Rows in a fixed order: of eight rows the first column, then the second, and so on.
#[derive(Debug)]
pub(crate) struct Packed {
    lanes: Vec<Lane>,
    columns: usize,
}

impl Packed {
    /// Adds `weights · row` to the scores of as many rows as there are scores, from row `first`
    /// on, which is a multiple of [`WIDTH`].
    pub(crate) fn add(&self, weights: &RequestWeights, first: usize, scores: &mut [f64]) {
        debug_assert!(first.is_multiple_of(WIDTH), "eight rows are packed together");
        if self.columns > 0 {
            add_packed(&self.lanes[first / WIDTH * self.columns..], weights, scores);
        }
    }
}

/// Adds `weights · row` to `scores`, by eight sums per row as [`add_rows`] does.
fn add_packed(lanes: &[Lane], weights: &[[f64; WIDTH]], scores: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if avx512::is_available() {
        return avx512::add_packed(lanes, weights, scores);
    }
    add_packed_anywhere(lanes, weights, scores);
}

#[multiversion(targets("x86_64+avx2"))]
fn add_packed_anywhere(lanes: &[Lane], weights: &[[f64; WIDTH]], scores: &mut [f64]) {
    let eights = lanes.chunks_exact(weights.len() * WIDTH);
    for (lanes, scores) in eights.zip(scores.chunks_mut(WIDTH)) {
        let mut sums = [[0.0; WIDTH]; WIDTH];
        let (columns, _) = lanes.as_chunks::<WIDTH>();
        for (columns, weights) in columns.iter().zip(weights) {
            for ((sums, column), weight) in sums.iter_mut().zip(columns).zip(weights) {
                for (sum, value) in sums.iter_mut().zip(column.0) {
                    *sum += f64::from(value) * weight;
                }
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        for (row, score) in scores.iter_mut().enumerate() {
            let even = (a[row] + e[row]) + (c[row] + g[row]);
            let odd = (b[row] + f[row]) + (d[row] + h[row]);
            *score += even + odd;
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

#[cfg(test)]
mod tests;
