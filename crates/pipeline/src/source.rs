//! Where lines come from: a queue that is read from a position on, and that keeps its lines.
//!
//! A source hands out complete lines, each once, in order; its position is a short text that the
//! sink keeps for it. What was handed out but not committed is handed out again after a restart.

mod files;
mod journal;

pub use files::FileSource;
pub use journal::JournalSource;

use crate::error::SourceError;

/// Complete lines of one file.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'s> {
    /// The file's name, for messages.
    pub file: &'s str,
    /// Lines, each with its line feed.
    pub bytes: &'s [u8],
    /// The offset of the first byte in the file.
    pub start: u64,
}

/// What comes next.
#[derive(Debug)]
pub enum Step<'s> {
    /// Lines.
    Lines(Piece<'s>),
    /// Lines that are known to have been there and cannot be read any more.
    Lost {
        /// The file's name.
        file: &'s str,
        /// The offset of the first byte that is missing.
        from: u64,
        /// The offset just after the last one.
        to: u64,
    },
    /// Nothing more at present.
    CaughtUp,
}

/// A queue of lines.
pub trait Source: Send {
    /// Goes to `position`, one that [`Source::position`] gave and the sink has kept; to the
    /// beginning without one. Also goes back there after a delivery that failed.
    ///
    /// # Errors
    /// When the position makes no sense here, or files cannot be read.
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError>;

    /// Returns the next lines.
    ///
    /// # Errors
    /// When files cannot be read; asking again tries again.
    fn read(&mut self) -> Result<Step<'_>, SourceError>;

    /// The position just after everything handed out.
    fn position(&self) -> String;

    /// `position` is safe in the sink: what lies before it is not needed any more.
    ///
    /// # Errors
    /// When that cannot be noted; it is noted again with the next position.
    fn committed(&mut self, position: &str) -> Result<(), SourceError>;

    /// Bytes that could be read at present and were not yet.
    fn bytes_behind(&mut self) -> u64;
}
