//! Fingerprints of resources and tags: FNV-1a of 64 bits (Fowler, Noll, Vo).
//!
//! Invariant: the same in every process and version, because what is kept on disk is compared with
//! it after a restart.

/// The fingerprint of a resource or a tag.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
