//! Keeps the best k of many scores, marks rows, and holds the memory that a ranking reuses.
//!
//! Higher scores come first, and equal scores by row, lower first. This order is total, so a
//! ranking is deterministic.
//!
//! Scores that reach the threshold are buffered. When the buffer holds twice what is asked for, and
//! at least 64, only the best k are kept (`select_nth_unstable`), and the threshold rises. This is
//! linear in the number of candidates; only what is kept at last is sorted.
//!
//! Invariant: `Top::finish` gives at most the limit, best first; a limit of 0 gives none.
//! `Marks::reset` leaves no row marked, at the cost of the rows that were. `Marks::rows` keeps the
//! order of marking: the crate `serving` holds the candidates of a body in it.
//! Not checked here: NaN. `joined.rs` proves before scoring that no sum can overflow.

use std::cmp::Ordering;

/// Buffer below which keeping a half would happen too often.
const BUFFER_MIN: usize = 64;

/// A row with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    pub row: u32,
    pub score: f64,
}

/// A set of rows that is cheap to empty again.
#[derive(Debug, Default)]
pub struct Marks {
    bits: Vec<u64>,
    marked: Vec<u32>,
}

/// The best rows seen.
#[derive(Debug, Default)]
pub(crate) struct Top {
    limit: usize,
    buffer_max: usize,
    threshold: f64,
    buffer: Vec<Ranked>,
}

impl Marks {
    /// Makes room for rows below `rows`, with none marked.
    pub fn reset(&mut self, rows: usize) {
        for row in self.marked.drain(..) {
            self.bits[row as usize / 64] = 0;
        }
        self.bits.resize(rows.div_ceil(64), 0);
    }

    /// Marks a row; returns whether it was unmarked.
    #[inline]
    pub fn mark(&mut self, row: u32) -> bool {
        let word = &mut self.bits[row as usize / 64];
        let bit = 1 << (row % 64);
        let fresh = *word & bit == 0;
        if fresh {
            *word |= bit;
            self.marked.push(row);
        }
        fresh
    }

    /// Returns whether a row is marked.
    #[inline]
    pub fn has(&self, row: u32) -> bool {
        self.bits[row as usize / 64] & (1 << (row % 64)) != 0
    }

    /// Returns the rows marked, in the order of marking.
    pub fn rows(&self) -> &[u32] {
        &self.marked
    }
}

impl Top {
    pub(crate) fn reset(&mut self, limit: usize) {
        self.limit = limit;
        self.buffer_max = (limit * 2).max(BUFFER_MIN);
        self.threshold = if limit == 0 { f64::INFINITY } else { f64::NEG_INFINITY };
        self.buffer.clear();
    }

    /// The score that a candidate must reach to matter.
    #[inline]
    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    #[inline]
    pub(crate) fn push(&mut self, ranked: Ranked) {
        if ranked.score < self.threshold || self.limit == 0 {
            return;
        }
        self.buffer.push(ranked);
        if self.buffer.len() >= self.buffer_max {
            self.keep_best();
        }
    }

    /// Returns the best, best first.
    pub(crate) fn finish(&mut self) -> &[Ranked] {
        if self.buffer.len() > self.limit {
            self.keep_best();
        }
        self.buffer.sort_unstable_by(order);
        &self.buffer
    }

    fn keep_best(&mut self) {
        let (_, last, _) = self.buffer.select_nth_unstable_by(self.limit - 1, order);
        self.threshold = last.score;
        self.buffer.truncate(self.limit);
    }
}

/// The total order of a ranking.
pub(crate) fn order(a: &Ranked, b: &Ranked) -> Ordering {
    b.score.total_cmp(&a.score).then(a.row.cmp(&b.row))
}

#[cfg(test)]
mod tests;
