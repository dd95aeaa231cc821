//! Summarises many values in sketches: [`Uniques`] counts different ones, [`Quantiles`] ranks.
//!
//! Invariant: merging is associative and commutative to the byte, for sketches made by adding
//! values. Their encoding depends only on the values that were added, not on the order. So sketches
//! of nodes, keys and batches may be merged in any order, on write or on read.
//! Encodings are stored: in tables of sinks, which merge old ones with new ones, and in snapshots
//! of `statsd`. The first byte names the sketch, the second its version. A version fixes every
//! parameter and the hash: two encodings that start alike can be merged. A program reads one
//! version only, so a new one makes errors of all stored sketches.
//! How far a sketch may be off is also in docs/operating/rollups.md, its size in docs/STATSD.md.
//! Decoding never panics. It gives an error or a sketch that can be merged, perhaps one that no
//! values would make.
//! A new kind needs an arm of [`merge_sketches`] and of each match on `SketchOf` (`pipeline`,
//! `sinks`, `recount`). Never here: exact counts; where sketches are kept.

mod encoding;
mod quantiles;
mod uniques;

pub use encoding::SketchError;
pub use quantiles::Quantiles;
pub use uniques::Uniques;

/// Merges two encoded sketches of the same kind.
///
/// # Errors
/// When one of them is no sketch, or they are of different kinds.
pub fn merge_sketches(one: &[u8], other: &[u8]) -> Result<Vec<u8>, SketchError> {
    let mut bytes = Vec::with_capacity(one.len().max(other.len()) + 64);
    match one.first() {
        Some(&uniques::TAG) => {
            let mut merged = Uniques::decode(one)?;
            merged.merge(Uniques::decode(other)?);
            merged.encode(&mut bytes);
        }
        Some(&quantiles::TAG) => {
            let mut merged = Quantiles::decode(one)?;
            merged.merge(&Quantiles::decode(other)?);
            merged.encode(&mut bytes);
        }
        _ => return Err(SketchError::Kind),
    }
    Ok(bytes)
}
