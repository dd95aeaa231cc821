//! Reads the lines of one log, a chunk at a time, and marks how far it came.
//!
//! It also passes over lines that are too long, and gives up a last line that nobody will complete.
//! Invariant: what is handed out is marked as read before anybody sees it, so nothing is handed out
//! twice. A chunk is 512 KiB. A line that does not fit into it beside the up to 1,024
//! bytes before it is too long. Its first 1,024 bytes are handed out, with its length.
//! `recount/src/lines.rs` repeats both sizes, and docs/operating/events.md names them. Chunks of
//! 128 KiB and `mmap` were rejected (docs/decisions/events.md).
//! Whether the bytes are the log's, `chunk` decides. The beginning of a long line is read again
//! without comparing.
//! Never here: whose turn it is (`turns`), opening files (`catalogue`).

use std::io;
use std::ops::Range;

use super::chunk::{Chunk, ChunkDecision};
use super::log::{Log, LogId, Searched};
use super::mark::{self, Mark, WINDOW};
use super::unpack::OpenLog;

/// What is read at once. A line with its line feed is at most a window shorter than this.
pub(super) const CHUNK_BYTES: usize = 512 << 10;
/// What is handed out of a line that is too long.
const BEGINNING_BYTES: usize = 1024;

/// Reads logs into memory that is lent, of which one chunk is used.
#[derive(Debug)]
pub(super) struct LogReader<'b> {
    buffer: &'b mut [u8],
}

/// What a look into a log gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogRead {
    Lines(BufferedBytes),
    /// The end of a line that nobody will complete.
    Torn(BufferedBytes),
    /// The beginning of a line that is too long, and how long that is.
    Oversized(BufferedBytes, u64),
    /// A part of a line that is too long was passed over, or a part of a packed file was checked.
    Unfinished,
    /// No complete line is there at present.
    End,
    /// The log's bytes are not in its file any more.
    Cut,
}

/// Bytes in the memory, and the offset in the log that they begin at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BufferedBytes {
    pub log: LogId,
    pub range: Range<usize>,
    pub start: u64,
}

impl<'b> LogReader<'b> {
    /// Lets memory grow to a chunk, and reads into it.
    pub(super) fn new(memory: &'b mut Vec<u8>) -> Self {
        if memory.len() < CHUNK_BYTES {
            memory.resize(CHUNK_BYTES, 0);
        }
        Self { buffer: &mut memory[..CHUNK_BYTES] }
    }

    /// Reads a chunk of a log and marks what is handed out of it.
    pub(super) fn take(
        &mut self,
        id: LogId,
        log: &mut Log,
        opened: &mut OpenLog,
    ) -> io::Result<LogRead> {
        let cursor = log.searched.map_or(log.mark.offset, |searched| searched.to);
        let back = Chunk::back(cursor);
        let read = opened.read_at(self.buffer, cursor - back as u64)?;
        let is_full = read == self.buffer.len();
        let chunk = Chunk { bytes: &self.buffer[..read], cursor, is_full };
        let decision = chunk.decide(log);
        if decision == ChunkDecision::Cut {
            return Ok(LogRead::Cut);
        }
        log.seen = log.seen.max(chunk.end());
        if !is_full && !log.is_packed() {
            log.file.len = chunk.end();
        }
        match decision {
            ChunkDecision::Cut => Ok(LogRead::Cut),
            ChunkDecision::Wait => Ok(LogRead::End),
            ChunkDecision::Search => {
                let hash = mark::hash(&self.buffer[read - WINDOW..read]);
                log.searched = Some(Searched { to: chunk.end(), hash });
                Ok(LogRead::Unfinished)
            }
            ChunkDecision::Skip { to } => self.skip(id, log, opened, to),
            ChunkDecision::Lines { length } => {
                let (start, range) = (log.mark.offset, back..back + length);
                log.mark.advance(&self.buffer[..range.end]);
                Ok(LogRead::Lines(BufferedBytes { log: id, range, start }))
            }
        }
    }

    /// Passes over a line that is too long, to just after it.
    fn skip(
        &mut self,
        id: LogId,
        log: &mut Log,
        opened: &mut OpenLog,
        to: u64,
    ) -> io::Result<LogRead> {
        let start = log.mark.offset;
        let Some(marked) = Mark::measure(opened, to)? else { return Ok(LogRead::Cut) };
        let read = opened.read_at(&mut self.buffer[..BEGINNING_BYTES], start)?;
        (log.searched, log.mark) = (None, marked);
        Ok(LogRead::Oversized(BufferedBytes { log: id, range: 0..read, start }, to - start))
    }

    /// Gives up the last line of a log, which nobody will complete: [`LogRead::Torn`], or what came
    /// up meanwhile.
    pub(super) fn give_up_rest(
        &mut self,
        id: LogId,
        log: &mut Log,
        opened: &mut OpenLog,
    ) -> io::Result<LogRead> {
        if log.searched.is_some() {
            let end = log.seen;
            return self.skip(id, log, opened, end);
        }
        let (start, back) = (log.mark.offset, log.mark.back());
        let read = opened.read_at(self.buffer, start - back as u64)?;
        if read <= back || !log.mark.fits(&self.buffer[..back]) {
            return Ok(LogRead::Cut);
        }
        let bytes = &self.buffer[..read];
        if memchr::memchr(b'\n', &bytes[back..]).is_some() {
            // It was completed: its lines are to be read.
            return Ok(LogRead::End);
        }
        log.mark.advance(bytes);
        log.seen = log.seen.max(log.mark.offset);
        log.file.len = log.file.len.min(log.seen);
        Ok(LogRead::Torn(BufferedBytes { log: id, range: back..read, start }))
    }
}
