//! Holds the buffers of scoring, which the caller keeps from one call to the next.
//!
//! Plain memory that only grows. What a call left in it changes no later result, because `score.rs`
//! and `columns.rs` write all that they read. One scratch serves one call at a time, of any model.

use super::block::LANES;
use super::leaf_path::ShapScratch;

/// Buffers of a thread that scores with trees; any model's, one call at a time.
#[derive(Debug, Default)]
pub struct TreeScratch {
    pub(super) codes: Codes,
    pub(super) narrow: OutputSums<f32>,
    pub(super) wide: OutputSums<f64>,
    pub(super) shap: ShapScratch,
}

/// Codes of the columns: of a block of rows, or of one.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    pub(super) block: Vec<[u8; LANES]>,
    pub(super) row: Vec<u8>,
}

/// Sums of a block, an array per output, and one row's.
#[derive(Debug, Default)]
pub(crate) struct OutputSums<L> {
    pub(super) block: Vec<[L; LANES]>,
    pub(super) row: Vec<L>,
}
