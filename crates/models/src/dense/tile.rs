//! Defines cache lines of packed numbers, and the tile of sums that a kernel makes of them.
//!
//! Invariant: both lie on the boundaries of cache lines, so that no load or store crosses one. A
//! tile has room for the largest kernel: eight rows of 48 sums.
//! What a kernel does not write of a tile keeps older sums; `dense.rs` and
//! `embed/attention.rs` read only what was written. `LINE` must stay `LANES` of `embed/norm.rs`,
//! whose softmax takes rows padded to it.

/// Outputs side by side in memory: a cache line, one register of AVX-512.
pub(crate) const LINE: usize = 16;

/// Rows of a tile, at most.
pub(crate) const ROWS: usize = 8;

/// Lines of a tile's row, at most.
pub(crate) const LINES: usize = 3;

/// Numbers that lie on one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct CacheLine(pub(crate) [f32; LINE]);

/// Sums of up to eight rows; of a narrow panel each row's first line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Tile(pub(crate) [[f32; LINE * LINES]; ROWS]);

impl Tile {
    pub(crate) fn new() -> Self {
        Self([[0.0; LINE * LINES]; ROWS])
    }
}
