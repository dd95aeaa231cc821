//! Computes fingerprints of resources and tags: FNV-1a of 64 bits (Fowler, Noll, Vo).
//!
//! Invariant: every process and version computes the same fingerprint, because those on disk are
//! compared after a restart. Never here: resistance against collisions that an attacker chooses,
//! and hashes of keys (`memory`, `disk/state.rs`).

/// Returns the fingerprint of a resource or a tag.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
