//! Defines the size of a block of rows that are evaluated at once, and the codes of left and right.
//!
//! Plain data. That 0 goes left and 255 right, whatever a split's limit, holds because `columns.rs`
//! makes no limit above 254. Numbers of leaves are bytes too (`build.rs`). A block's rows must be a
//! multiple of `ABREAST` in `score.rs`, which walks so many at a time.

/// Rows of a block.
pub(super) const LANES: usize = 64;

/// The code that goes left whatever the limit.
pub(super) const LEFT: u8 = 0;

/// The code that goes right whatever the limit.
pub(super) const RIGHT: u8 = 255;
