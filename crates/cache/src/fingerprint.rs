//! Computes fingerprints of tags: FNV-1a of 64 bits (Fowler, Noll, Vo).
//!
//! Invariant: every process and version computes the same fingerprint, because those on disk are
//! compared after a restart; another one needs another `FORMAT` in `disk/log.rs`.
//! Tags come from origins and operators. Never here: resistance against collisions that a client
//! chooses, and hashes of keys (`purge`, `memory`, `disk/state.rs`).

/// Returns the fingerprint of a tag.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
