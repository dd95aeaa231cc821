//! Sketches: small summaries of many values that merge without loss, whoever made them.
//!
//! [`Uniques`] counts different values, [`Quantiles`] orders them. Merging is associative and
//! commutative to the byte: the encoding depends on what was added only, not on order or place.
//! So sketches of nodes, keys and batches may be merged in any order, on write or on read.
//!
//! A portable encoding starts with one byte that says which sketch it is and one for the version;
//! a version fixes every parameter and the hash, so two encodings that start alike can be merged.
//! Whole numbers are LEB128 varints unless said otherwise.
//! Invariant: whatever bytes come in, decoding ends in a sketch that could have been made, or in
//! an error.

mod quantiles;
mod uniques;

pub use quantiles::Quantiles;
pub use uniques::Uniques;

/// Bytes that are no sketch, or not the one that was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SketchError {
    /// The first byte names no sketch, or another one than wanted.
    #[error("sketch of another kind, or none")]
    Kind,
    /// A version that this program does not read.
    #[error("sketch of version {0}, which this program does not read")]
    Version(u8),
    /// The bytes end early, go on after the end, or say what cannot be.
    #[error("broken sketch at byte {0}")]
    Broken(usize),
}

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

/// Reads an encoding from its start.
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn open(bytes: &'b [u8], tag: u8, version: u8) -> Result<Self, SketchError> {
        match bytes {
            [kind, found, ..] if *kind == tag && *found == version => Ok(Self { bytes, at: 2 }),
            [kind, found, ..] if *kind == tag => Err(SketchError::Version(*found)),
            _ => Err(SketchError::Kind),
        }
    }

    fn broken<T>(&self) -> Result<T, SketchError> {
        Err(SketchError::Broken(self.at))
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], SketchError> {
        match self.bytes.get(self.at..self.at.saturating_add(count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.broken(),
        }
    }

    fn varint(&mut self) -> Result<u64, SketchError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            // The last byte holds one bit only, and no number ends in a byte that says nothing.
            if (shift == 63 && bits > 1) || (byte == 0 && shift > 0) {
                return self.broken();
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.broken()
    }

    fn end(self) -> Result<(), SketchError> {
        if self.at == self.bytes.len() { Ok(()) } else { self.broken() }
    }
}

fn write_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
