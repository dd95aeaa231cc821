//! Delivers part of a source again: the lines in ranges of bytes, under a position of their own.
//!
//! Invariant: of a file that a range names, exactly the lines are handed out that begin within the
//! first range that names it. Further ranges of that file are passed over. Without any range all
//! lines come. A piece of a line counts by where it begins.
//! A position belongs to the part it was taken in. The position of another part is an error, but
//! that of another node is then passed over. Sinks store positions: JSON with `part` and `at`, the
//! position of the source itself. With another format or other words for a part, a replay that was
//! interrupted cannot go on.
//! All of the source is read, and what is out of range comes as no bytes. Reports of losses come
//! through for every file. `bytes_behind` is that of the whole source.
//! Never here: which part an operator wants (`tidegate/src/events/replay.rs`).

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stdx::DiskFile;

use super::{FileNotices, LineSource, NodePosition, ReadOutcome};
use crate::chunk::LogChunk;
use crate::error::SourceError;

/// Bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRange {
    /// The end of the file's path, in whole names; none stands for every file.
    pub file: Option<String>,
    /// The lines that begin here.
    pub bytes: Range<u64>,
}

/// Part of a source.
pub struct RangedSource {
    source: Box<dyn LineSource>,
    source_name: String,
    ranges: Vec<FileRange>,
    /// What part it is, in words that are the same whenever it is.
    part: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Position<'p> {
    part: std::borrow::Cow<'p, str>,
    at: String,
}

impl RangedSource {
    /// The part of `source` in `ranges`, all of it when there are none; `part` says what is
    /// delivered, and stands in every position.
    pub fn new(
        (source_name, source): (&str, Box<dyn LineSource>),
        ranges: Vec<FileRange>,
        part: String,
    ) -> Self {
        Self { source, source_name: source_name.to_owned(), ranges, part }
    }

    /// Returns where the source itself goes on after `position`.
    ///
    /// # Errors
    /// When it is the position of another part.
    pub fn inner(&self, position: &str) -> Result<String, SourceError> {
        let wrong = |reason| {
            let source_name = self.source_name.clone();
            Err(SourceError::Position { source_name, reason })
        };
        match serde_json::from_str::<Position<'_>>(position) {
            Ok(position) if position.part == self.part => Ok(position.at),
            Ok(position) => wrong(format!("it is of {}, not of {}", position.part, self.part)),
            Err(error) => wrong(error.to_string()),
        }
    }

    /// The lines of a piece that count.
    fn of<'s>(ranges: &[FileRange], piece: LogChunk<'s>) -> LogChunk<'s> {
        if ranges.is_empty() {
            return piece;
        }
        let is_of = |range: &&FileRange| {
            range.file.as_ref().is_none_or(|file| Path::new(piece.file).ends_with(file))
        };
        let Some(range) = ranges.iter().find(is_of) else {
            return LogChunk { bytes: &[], ..piece };
        };
        let from = first_line_at(&piece, range.bytes.start);
        let to = first_line_at(&piece, range.bytes.end).max(from);
        let start = piece.start + from as u64;
        LogChunk { bytes: &piece.bytes[from..to], start, ..piece }
    }
}

/// Where in the piece the first line begins that begins at `offset` of the file or after it.
fn first_line_at(piece: &LogChunk<'_>, offset: u64) -> usize {
    let place = offset.saturating_sub(piece.start);
    if place == 0 {
        return 0;
    }
    let before = usize::try_from(place - 1).unwrap_or(usize::MAX).min(piece.bytes.len());
    let end = memchr::memchr(b'\n', &piece.bytes[before..]);
    end.map_or(piece.bytes.len(), |end| before + end + 1)
}

impl LineSource for RangedSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        let inner = position.map(|position| self.inner(position)).transpose()?;
        self.source.resume(inner.as_deref())
    }

    fn others(&mut self, positions: &[NodePosition]) {
        let positions = positions.iter().filter_map(|other| {
            let (node, position) = (other.node.clone(), self.inner(&other.position).ok()?);
            Some(NodePosition { node, position })
        });
        let positions: Vec<_> = positions.collect();
        self.source.others(&positions);
    }

    fn read<'s>(&'s mut self, buffer: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        let Self { source, ranges, .. } = self;
        let of = |piece| Self::of(ranges, piece);
        Ok(match source.read(buffer)? {
            ReadOutcome::Lines(piece) => ReadOutcome::Lines(of(piece)),
            ReadOutcome::Torn(piece) if !of(piece).bytes.is_empty() => ReadOutcome::Torn(piece),
            ReadOutcome::Oversized { beginning, length } if !of(beginning).bytes.is_empty() => {
                ReadOutcome::Oversized { beginning, length }
            }
            ReadOutcome::Torn(other) | ReadOutcome::Oversized { beginning: other, .. } => {
                ReadOutcome::Lines(LogChunk { bytes: &[], ..other })
            }
            other => other,
        })
    }

    fn position(&self) -> String {
        let (part, at) = (self.part.as_str().into(), self.source.position());
        serde_json::to_string(&Position { part, at }).expect("strings are JSON")
    }

    fn to_sync(&mut self) -> Vec<Arc<dyn DiskFile>> {
        self.source.to_sync()
    }

    fn committed(&mut self, position: &str) -> Result<(), SourceError> {
        let inner = self.inner(position)?;
        self.source.committed(&inner)
    }

    fn bytes_behind(&mut self) -> u64 {
        self.source.bytes_behind()
    }

    fn notices(&self) -> FileNotices {
        self.source.notices()
    }
}

#[cfg(test)]
mod tests;
