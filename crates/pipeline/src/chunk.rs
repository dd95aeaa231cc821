//! Bytes of one file or of the journal, and where their lines stand.
//!
//! Invariant: `start` is the offset of the first byte in what the file unpacks to. So places of
//! lines stay the same when a log is packed. Quarantine and rows of single events keep them.
//! All segments of the journal are one file: `file` is `journal`, and no path, and `start` counts
//! from the journal's beginning.
//! Never here: reading files (`source`), and what lines mean (`decode`).

/// Bytes of one file, or of the journal.
#[derive(Debug, Clone, Copy)]
pub struct LogChunk<'s> {
    /// The file's path; `journal` for the journal. Ranges of a replay are matched with it; rows of
    /// single events and the quarantine keep it.
    pub file: &'s str,
    /// Complete lines, each with its line feed, unless the step says otherwise.
    pub bytes: &'s [u8],
    /// The offset of the first byte in the file; in what it unpacks to, when it is compressed. Of
    /// the journal, over all segments.
    pub start: u64,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineLocation<'l> {
    /// The file's name.
    pub file: &'l str,
    /// The offset of the line's first byte.
    pub offset: u64,
}

impl<'s> LogChunk<'s> {
    /// Where the line stands that starts at this place of the chunk.
    pub(crate) fn location(&self, start: usize) -> LineLocation<'s> {
        LineLocation { file: self.file, offset: self.start + start as u64 }
    }
}
