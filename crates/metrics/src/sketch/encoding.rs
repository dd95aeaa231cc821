//! Reads and writes what the encodings of all sketches share, and names what can be wrong with one.
//!
//! Shared are whole numbers (LEB128 varints), the checks of tag and version, and the check that
//! nothing follows. Each sketch writes its own tag and version. Invariant: each number has one
//! encoding; a longer one of the same number is an error. Reading past the end is an error, never a
//! panic.
//! Encodings are stored (`sketch.rs`), so another form of numbers is a new version of both
//! sketches. Never here: what the numbers mean (`quantiles`, `uniques`).

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

/// Reads an encoding from its start.
pub(super) struct Reader<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn open(bytes: &'b [u8], tag: u8, version: u8) -> Result<Self, SketchError> {
        match bytes {
            [kind, found, ..] if *kind == tag && *found == version => Ok(Self { bytes, at: 2 }),
            [kind, found, ..] if *kind == tag => Err(SketchError::Version(*found)),
            _ => Err(SketchError::Kind),
        }
    }

    pub(super) fn broken<T>(&self) -> Result<T, SketchError> {
        Err(SketchError::Broken(self.at))
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'b [u8], SketchError> {
        match self.bytes.get(self.at..self.at.saturating_add(count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.broken(),
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, SketchError> {
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

    pub(super) fn end(self) -> Result<(), SketchError> {
        if self.at == self.bytes.len() { Ok(()) } else { self.broken() }
    }
}

pub(super) fn write_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
