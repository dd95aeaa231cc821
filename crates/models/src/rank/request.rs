//! Defines what is ranked: the candidates of a request, and sets of them made beforehand.
//!
//! Plain data. How rows of a set are packed is its ranker's: `linear.rs` copies them out of the
//! matrix, `rows.rs` their codes.

use crate::matrix::Packed;
use crate::trees::CodedRows;

/// What to rank and how.
#[derive(Debug, Clone, Copy)]
pub struct RankRequest<'a> {
    /// One value per slot of [`crate::Ranker::inputs`], NaN where absent.
    pub inputs: &'a [f64],
    pub candidates: Candidates<'a>,
    /// Rows not to return.
    pub excluded: &'a [u32],
    /// At most so many are returned; 0 returns none.
    pub limit: usize,
    /// At most so many of one category; items without a category are not limited.
    pub per_category_max: Option<usize>,
}

/// The rows to choose from.
#[derive(Debug, Clone, Copy)]
pub enum Candidates<'a> {
    All,
    /// Rows below [`crate::Ranker::len`]; a row listed twice may be returned twice.
    Rows(&'a [u32]),
    /// Rows packed beforehand by [`crate::Ranker::pack`] of the same ranker: the fastest.
    Packed(&'a CandidateSet),
}

impl<'a> Candidates<'a> {
    /// The rows, unless they are all there are.
    pub fn rows(self) -> Option<&'a [u32]> {
        match self {
            Self::All => None,
            Self::Rows(rows) => Some(rows),
            Self::Packed(set) => Some(&set.rows),
        }
    }
}

/// Rows that many requests choose from, copied so that they are scored several at a time. Takes as
/// much memory as the rows take where they stand.
#[derive(Debug)]
pub struct CandidateSet {
    pub(super) rows: Vec<u32>,
    pub(super) packed: PackedRows,
}

/// How the rows of a set are kept.
#[derive(Debug)]
pub(super) enum PackedRows {
    Sums(PackedSums),
    Codes(CodedRows),
    /// As numbers of rows only.
    Listed,
}

/// The parts of linear sums that do not depend on the request, of the rows of a set.
#[derive(Debug)]
pub(super) struct PackedSums {
    pub(super) base: Vec<f64>,
    pub(super) packed: Packed,
}

impl CandidateSet {
    /// The rows, in the order given.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}
