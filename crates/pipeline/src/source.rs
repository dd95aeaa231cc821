//! Defines what a source is: a queue of lines that is read from a position on, and that keeps its
//! lines.
//!
//! [`LineSource`] is the trait, [`ReadOutcome`] what a read gives: lines, pieces of lines for
//! quarantine, and reports of what is lost or unreadable. The sources are `files`, `journal` and
//! `ranged`.
//! Invariant, for every implementation: complete lines come once each, in the order of their log,
//! until `resume`. The position is a short text just after all that was handed out; the sink keeps
//! it, so texts of older versions must stay readable. What was handed out but not committed is
//! handed out again after a restart.
//! Besides `run`, `events replay --dry-run` and `events export` read a source. All call `others`,
//! `resume`, then `read`. A new outcome needs a decision in `run`, `ranged`,
//! `tidegate/src/events/replay.rs` and `tidegate/src/events/export.rs`; the compiler asks only in
//! the first and the last.
//! Never here: when to read (`run`), and what a line means (`decode`).

mod files;
mod journal;
mod ranged;

use std::collections::BTreeMap;
use std::sync::Arc;

use stdx::DiskFile;

pub use files::{Extent, FileOptions, FilePattern, FileSource, TimeOf, time_in};
pub use journal::JournalSource;
pub use ranged::{FileRange, RangedSource};

use crate::chunk::LogChunk;
use crate::error::SourceError;

/// What comes next.
#[derive(Debug)]
pub enum ReadOutcome<'s> {
    /// Lines.
    Lines(LogChunk<'s>),
    /// The end of a file that nobody writes to any more, without a line feed: part of a line,
    /// to be quarantined.
    Torn(LogChunk<'s>),
    /// A line that is longer than lines may be, to be quarantined; the piece has its beginning.
    Oversized {
        /// The beginning.
        beginning: LogChunk<'s>,
        /// The length of all of it in bytes, with its line feed if it has one.
        length: u64,
    },
    /// Bytes that are known to have been there, were not handed out, and cannot be read any more.
    Lost {
        /// The file's name.
        file: &'s str,
        /// The offset of the first byte that is missing.
        from: u64,
        /// The offset just after the last one.
        to: u64,
    },
    /// A file has less than what was handed out of it, as after a power cut. The missing bytes were
    /// counted, and the file no longer has them. Reading goes on at its end, so that what was
    /// written since it was cut, if anything, is not read.
    Receded {
        /// The file's name.
        file: &'s str,
        /// Where the file ends.
        from: u64,
        /// How far it had been read.
        to: u64,
    },
    /// A file has other bytes than those that were handed out of it. What they were was counted;
    /// what stands there now is not read. Where the change begins is known up to a few windows.
    Changed {
        /// The file's name.
        file: &'s str,
        /// Up to here it is as it was, and perhaps some bytes further.
        from: u64,
        /// Where reading goes on.
        to: u64,
    },
    /// The log does not have the place any more to which it was read: it was damaged, cut, removed
    /// or replaced. Reading goes on with the first lines that nobody can have read.
    Displaced {
        /// The log's name.
        file: &'s str,
        /// What became of it.
        displaced: ::journal::Displaced,
    },
    /// A file cannot be read at present; the others go on. Reported once for each reason.
    Unreadable {
        /// The file's name.
        file: &'s str,
        /// What the system says.
        reason: &'s str,
    },
    /// A file came up that another node may have read before. The source wants
    /// [`LineSource::others`] anew.
    Unfamiliar,
    /// Work that takes long is under way, such as the check of a packed file: ask again at once.
    /// So callers can do something else in between.
    Unfinished,
    /// Nothing more at present.
    CaughtUp,
}

/// A position that another node has committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePosition {
    /// The node's name.
    pub node: String,
    /// Its position.
    pub position: String,
}

/// Files that match and are not counted at present, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileNotices {
    /// Files with nothing that another file does not have, each with that file.
    pub copies: BTreeMap<String, String>,
    /// Files that cannot be read, each with the reason.
    pub unreadable: BTreeMap<String, String>,
}

/// A queue of lines.
pub trait LineSource: Send {
    /// Goes to `position`, one that [`LineSource::position`] gave and the sink has kept; to the
    /// beginning without one. Also goes back there after a delivery that failed.
    ///
    /// # Errors
    /// When the position makes no sense here, or files cannot be read.
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError>;

    /// Takes note of the positions that other nodes have committed for this source at present;
    /// called before `resume`, and whenever [`ReadOutcome::Unfamiliar`] asks for it.
    fn others(&mut self, _positions: &[NodePosition]) {}

    /// Returns the next lines. They may lie in `buffer`, whatever that held before; a caller may
    /// lend one buffer to many sources. A source that keeps a part of a line has memory of its own.
    ///
    /// # Errors
    /// When files cannot be read; asking again tries again. What was handed out before stays
    /// good, and can be committed with [`LineSource::position`].
    fn read<'s>(&'s mut self, buffer: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError>;

    /// The position just after everything handed out.
    fn position(&self) -> String;

    /// The files that must be made durable before [`LineSource::position`] may be committed; asked
    /// for together with it. Syncing them may stall: it belongs on another thread.
    fn to_sync(&mut self) -> Vec<Arc<dyn DiskFile>> {
        Vec::new()
    }

    /// `position` is safe in the sink: what lies before it is not needed any more.
    ///
    /// # Errors
    /// When that cannot be noted; it is noted again with the next position.
    fn committed(&mut self, position: &str) -> Result<(), SourceError>;

    /// Bytes that could be read at present and were not yet.
    fn bytes_behind(&mut self) -> u64;

    /// The files that are not counted at present.
    fn notices(&self) -> FileNotices {
        FileNotices::default()
    }
}
