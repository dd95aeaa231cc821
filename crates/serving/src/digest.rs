//! Hashes: the version of a model that has no other, and the key of a request's answer.
//!
//! A version is the upper 64 bits of XXH3-128, read in parts of 64 KiB; a key is all 128. Neither
//! resists someone who looks for two contents with one hash; keys of texts do (`texts/cache.rs`).
//! Invariant: parts of a key are told apart by their lengths. Elsewhere: which parts a request has
//! (`oip/request.rs`, `router/texts.rs`).

use std::io::{self, Read};

use twox_hash::XxHash3_128;
use twox_hash::xxhash3_128::Hasher;

/// Numbers whose bytes are hashed together.
const NUMBERS_AT_ONCE: usize = 512;

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
    let mut key = KeyHasher::default();
    parts.iter().for_each(|part| key.part(part));
    key.finish()
}

/// Makes a key of parts, one after the other.
pub(crate) struct KeyHasher(Hasher);

impl Default for KeyHasher {
    fn default() -> Self {
        Self(Hasher::new())
    }
}

impl KeyHasher {
    pub(crate) fn part(&mut self, part: &[u8]) {
        self.0.write(&(part.len() as u64).to_le_bytes());
        self.0.write(part);
    }

    /// Takes the bits of numbers as one part.
    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.0.write(&(8 * numbers.len() as u64).to_le_bytes());
        let mut bytes = [[0; 8]; NUMBERS_AT_ONCE];
        for numbers in numbers.chunks(NUMBERS_AT_ONCE) {
            let bytes = &mut bytes[..numbers.len()];
            bytes.iter_mut().zip(numbers).for_each(|(bytes, number)| *bytes = number.to_le_bytes());
            self.0.write(bytes.as_flattened());
        }
    }

    pub(crate) fn finish(self) -> u128 {
        self.0.finish_128()
    }
}
