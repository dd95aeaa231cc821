//! Blocks of rows that are evaluated at once, and the codes of their values.
//!
//! Invariant: 0 goes left and 255 goes right whatever a test's limit is.

/// Rows of a block.
pub(super) const LANES: usize = 64;

/// The code that goes left whatever the limit.
pub(super) const LEFT: u8 = 0;

/// The code that goes right whatever the limit.
pub(super) const RIGHT: u8 = 255;
