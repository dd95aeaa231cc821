//! Hashes: the version of a model that has no other, and the key of a request's answer.
//!
//! A version is the upper 64 bits of XXH3-128, read in parts of 64 KiB; a key is all 128. Neither
//! resists someone who looks for two contents with one hash; keys of texts do (`texts/cache.rs`).
//! Invariant: parts of a key are told apart by their lengths. Elsewhere: which parts a request has
//! (`oip/request.rs`, `router/texts.rs`).

use std::io::{self, Read};

use twox_hash::XxHash3_128;
use twox_hash::xxhash3_128::Hasher;

/// Returns sixteen hexadecimal digits of what is read, part by part: weights can be as large as the
/// memory.
///
/// # Errors
/// Those of reading.
pub(crate) fn digest(mut content: impl Read) -> io::Result<String> {
    let mut hash = XxHash3_128::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match content.read(&mut part)? {
            0 => return Ok(format!("{:016x}", (hash.finish_128() >> 64) as u64)),
            count => hash.write(&part[..count]),
        }
    }
}

/// Hashes the parts of a request, canonical: two that mean the same have the same key.
pub(crate) fn key_of(parts: &[Vec<u8>]) -> u128 {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    }
    hasher.finish_128()
}
