//! Names a place in a journal so that it is known again: an offset, and what stood before it.
//!
//! Sinks store places as text: `OFFSET`, or `OFFSET-SESSION-LENGTH-HASH` in decimal digits, the
//! hash in hexadecimal ones. Texts of the first form are of versions before sessions, or of a place
//! before any line; both must stay readable. `recount/src/sink.rs` reads the offset by itself.
//! The hash is FNV-1a of 64 bits (RFC 9923) over the last line, or its last 64 KiB. Lines hold the
//! time and the id of their request, so other lines have another hash.
//! Also here: what became of a place that a journal does not have any more.
//! Never here: looking whether a journal has the place (`reader`).

use std::fmt;
use std::str::FromStr;

/// Bytes of a line that count at most.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A place in a journal: just after a line, or at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The offset in plain bytes.
    pub offset: u64,
    /// What stands before it, where that is known.
    pub(crate) mark: Option<Mark>,
}

/// A place that the journal does not have any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displaced {
    /// Up to where lines had been read.
    pub read_to: u64,
    /// Where reading goes on.
    pub goes_on: u64,
    /// Lines that had not been read and are gone: the end of the last one, if that is known.
    pub lost_to: Option<u64>,
    /// What became of the journal.
    pub change: Change,
}

/// What became of a journal that does not have a place any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// What stands before the place is not what was read. Between the two offsets is the rest of a
    /// line.
    Damaged,
    /// It is shorter than it was. What had been read is gone, and what came behind it, if anything.
    Shorter,
    /// It is another journal, or an older copy. What had not been read of the other one is gone.
    Replaced,
    /// It has the place. Behind it lines may be gone: nothing says how far there were any, or what
    /// says it is of another journal.
    Unwitnessed,
}

/// What stands before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The session in which it was written; 0 if that is not known.
    pub session: u64,
    /// How many bytes the hash is of.
    pub length: u32,
    pub hash: u64,
}

impl Mark {
    /// Returns the mark of a place behind these lines, of which the last one counts.
    pub(crate) fn behind(session: u64, lines: &[u8]) -> Self {
        let before = lines.len().saturating_sub(1);
        let start = memchr::memrchr(b'\n', &lines[..before]).map_or(0, |at| at + 1);
        Self::of(session, &lines[start.max(lines.len().saturating_sub(LINE_BYTES_MAX))..])
    }

    /// Returns the mark of a place behind exactly these bytes.
    pub(crate) fn of(session: u64, bytes: &[u8]) -> Self {
        Self { session, length: bytes.len() as u32, hash: fnv1a(bytes) }
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.offset)?;
        match self.mark {
            Some(mark) => write!(f, "-{}-{}-{:016x}", mark.session, mark.length, mark.hash),
            None => Ok(()),
        }
    }
}

/// A text that names no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no place in a journal")]
pub struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let mut parts = text.split('-');
        let offset = parts.next().and_then(|text| text.parse().ok()).ok_or(NoPlace)?;
        let Some(session) = parts.next() else { return Ok(Self { offset, mark: None }) };
        let mut mark = || {
            let session = session.parse().ok()?;
            let length = parts.next()?.parse().ok()?;
            let hash = u64::from_str_radix(parts.next()?, 16).ok()?;
            parts.next().is_none().then_some(Mark { session, length, hash })
        };
        let mark = mark().filter(|mark| mark.length as usize <= LINE_BYTES_MAX);
        Ok(Self { offset, mark: Some(mark.ok_or(NoPlace)?) })
    }
}

#[cfg(test)]
mod tests;
