//! Defines the unit in which item features are packed: eight f32, aligned to 32 bytes.
//!
//! Plain data. `matrix/avx512.rs` loads a lane whole and aligned, so neither number may change
//! alone.

/// f32 values per lane: half a cache line, one f64 register of AVX-512.
pub(crate) const WIDTH: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Lane(pub(super) [f32; WIDTH]);
