//! Names a part of a line by the places of its first byte and of the one behind it.
//!
//! Plain data of eight bytes: places above 4 GB would be cut, and lines are far shorter. A span
//! holds no line; whoever uses it must have the right one. `ABSENT` is no part of any line.

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineSpan {
    start: u32,
    end: u32,
}

/// No part of any line.
pub(super) const ABSENT: LineSpan = LineSpan { start: u32::MAX, end: 0 };

impl LineSpan {
    /// From and to, in bytes from the start of the line.
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// The place of its first byte.
    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    /// The place just after its last byte.
    pub(super) fn end(self) -> usize {
        self.end as usize
    }

    /// How many bytes it has.
    #[inline]
    pub(super) fn length(self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// The part of `line` that it means.
    #[inline]
    pub(super) fn of(self, line: &[u8]) -> Option<&[u8]> {
        line.get(self.start as usize..self.end as usize)
    }
}

/// The line without the carriage return that stands before the line feed in logs of Windows.
#[inline]
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
