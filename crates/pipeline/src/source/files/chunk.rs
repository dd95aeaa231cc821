//! Decides what the reader does with the bytes it has just read of one log.
//!
//! There are five outcomes: lines, wait for more, search on in a line that is too long, skip to its
//! end, or cut. Cut says that the file is not the log's any more.
//! Invariant: lines come only from a chunk before which the expected bytes stand: at most the last
//! 1,024 before the cursor, by their 64-bit hash. At offset 0 there are none to compare. So another
//! log with the same short beginning passes. A plain log is also cut when it ends before what was
//! seen of it.
//! [`super::reader`] says which chunk is full, and so which line is too long. It hands out
//! beginnings of such lines without asking here.
//! Refuses: to read a file or to change the log.

use super::log::Log;
use super::mark::{self, WINDOW};

/// A part of a log's file, as it was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'c> {
    /// The bytes before the cursor that count, and what stands behind it.
    pub bytes: &'c [u8],
    /// The offset from which on the log is not read.
    pub cursor: u64,
    /// More may follow: the buffer was filled.
    pub is_full: bool,
}

/// What to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkDecision {
    /// The log's bytes are not in its file any more.
    Cut,
    /// No complete line is there at present.
    Wait,
    /// It is the middle of a line that is too long: search on behind it.
    Search,
    /// The line that is too long ends just before this offset.
    Skip { to: u64 },
    /// So many bytes of the chunk's data are complete lines.
    Lines { length: usize },
}

impl<'c> Chunk<'c> {
    /// How many bytes before a cursor count.
    pub(super) fn back(cursor: u64) -> usize {
        (cursor as usize).min(WINDOW)
    }

    /// What stands behind the cursor; none when not even the bytes before it are there.
    pub(super) fn data(&self) -> Option<&'c [u8]> {
        self.bytes.get(Self::back(self.cursor)..)
    }

    /// The offset behind the chunk.
    pub(super) fn end(&self) -> u64 {
        self.cursor + self.data().map_or(0, <[u8]>::len) as u64
    }

    /// Says what is to be done with the chunk of a log.
    pub(super) fn decide(&self, log: &Log) -> ChunkDecision {
        let Some(data) = self.data() else { return ChunkDecision::Cut };
        let window = &self.bytes[..Self::back(self.cursor)];
        let fits = match log.searched {
            Some(searched) => searched.hash == mark::hash(window),
            None => log.mark.fits(window),
        };
        let is_shorter = !self.is_full && self.end() < log.seen && !log.is_packed();
        if !fits || is_shorter {
            return ChunkDecision::Cut;
        }
        let Some(last) = memchr::memrchr(b'\n', data) else {
            return if self.is_full { ChunkDecision::Search } else { ChunkDecision::Wait };
        };
        if log.searched.is_some() {
            let first = memchr::memchr(b'\n', data).unwrap_or(last);
            return ChunkDecision::Skip { to: self.cursor + first as u64 + 1 };
        }
        ChunkDecision::Lines { length: last + 1 }
    }
}

#[cfg(test)]
mod tests;
