//! Holds which rows are neighbours, one bit for each ordered pair, and sets of rows.
//!
//! Bits were chosen over lists. Ten thousand rows take 12.5 MB however many pairs there are. The
//! neighbours that are left are the bitwise `and` of two sets.
//!
//! Invariant: neighbours are mutual. That no row is its own neighbour is kept by
//! `clusters/pairs.rs`, which links each pair once. A set made by `all` may have bits beyond the
//! last row; no row has neighbours there.

/// Symmetric; no row is its own neighbour.
#[derive(Debug)]
pub(super) struct NeighbourGraph {
    rows: usize,
    words: usize,
    bits: Vec<u64>,
}

/// A set of rows.
#[derive(Debug, Clone)]
pub(super) struct RowSet(Vec<u64>);

impl NeighbourGraph {
    pub(super) fn new(rows: usize) -> Self {
        let words = rows.div_ceil(64);
        Self { rows, words, bits: vec![0; rows * words] }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Makes two rows neighbours.
    pub(super) fn link(&mut self, a: usize, b: usize) {
        self.bits[a * self.words + b / 64] |= 1 << (b % 64);
        self.bits[b * self.words + a / 64] |= 1 << (a % 64);
    }

    /// Returns how many neighbours a row has.
    pub(super) fn degree(&self, row: usize) -> usize {
        self.row(row).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Appends the neighbours of a row that are in `of` to `found`, rising.
    pub(super) fn neighbours(&self, row: usize, of: &RowSet, found: &mut Vec<u32>) {
        for (index, (word, of)) in self.row(row).iter().zip(&of.0).enumerate() {
            let mut left = word & of;
            while left != 0 {
                found.push((index * 64) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }
}

impl RowSet {
    /// Returns the set of all rows below `rows`, and maybe some beyond.
    pub(super) fn all(rows: usize) -> Self {
        Self(vec![u64::MAX; rows.div_ceil(64)])
    }

    pub(super) fn has(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }

    pub(super) fn remove(&mut self, row: usize) {
        self.0[row / 64] &= !(1 << (row % 64));
    }
}
