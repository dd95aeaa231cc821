//! Keeps what lines say about later lines of their file: the columns that a directive names, and
//! pieces of a line that has not ended.
//!
//! A reader may begin anywhere in a file, after a restart or for a replay. What stands before is
//! then read from the file once, from its beginning, packed or not.
//! Invariant: a line means the same wherever reading began. State is kept for the files at hand, at
//! most [`FILES_MAX`]; beyond that it is read again when it is wanted. A file that cannot be read
//! says nothing, so its lines are refused until the next directive.
//! `recount` begins each file at its beginning, and needs none of this.
//! Never here: which bytes come next (`source`).

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use super::columns::{DIRECTIVE, Directed, LogColumns};
use super::event::Layout;
use super::format::{Format, LineFormat};
use super::span::without_return;
use super::wrapper::{OpenPieces, Wrapper};
use crate::chunk::LogChunk;

/// Files whose state is kept.
const FILES_MAX: usize = 1024;
/// What is read of a line at most.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// What lines of a format say about later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKind {
    /// Nothing.
    None,
    /// Which columns follow.
    Directives(Directed),
    /// They may be pieces.
    Pieces(Wrapper),
}

impl ContextKind {
    pub(super) fn of(format: &Format) -> Self {
        match (&format.lines, format.wrapper) {
            (LineFormat::Directed(unit), _) => Self::Directives(*unit),
            (_, Some(wrapper)) if wrapper.has_pieces() => Self::Pieces(wrapper),
            _ => Self::None,
        }
    }
}

/// What was said in each file.
#[derive(Debug)]
pub(super) struct FileContexts {
    kind: ContextKind,
    /// The layout of events without columns of their own.
    plain: Layout,
    file: String,
    at_hand: FileContext,
    others: HashMap<String, FileContext>,
}

/// What was said in a file up to an offset.
#[derive(Debug, Clone, Default)]
struct FileContext {
    next: u64,
    columns: Option<Arc<LogColumns>>,
    pieces: OpenPieces,
}

impl FileContexts {
    pub(super) fn new(kind: ContextKind, plain: Layout) -> Self {
        let (file, at_hand, others) = (String::new(), FileContext::default(), HashMap::new());
        Self { kind, plain, file, at_hand, others }
    }

    /// Goes to the lines of a chunk.
    pub(super) fn enter(&mut self, chunk: &LogChunk<'_>) {
        if self.kind == ContextKind::None {
            return;
        }
        if self.file != chunk.file {
            if self.others.len() >= FILES_MAX {
                self.others.clear();
            }
            let found = self.others.remove(chunk.file).unwrap_or_default();
            let left = std::mem::replace(&mut self.at_hand, found);
            self.others.insert(std::mem::replace(&mut self.file, chunk.file.to_owned()), left);
        }
        if self.at_hand.next != chunk.start {
            self.at_hand = FileContext::default();
            if let Err(error) = self.look_back(chunk) {
                let file = chunk.file;
                tracing::warn!(file, %error, "what earlier lines of a log say cannot be read");
            }
            self.at_hand.next = chunk.start;
        }
    }

    /// Notes that so many bytes were read.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at_hand.next += bytes as u64;
    }

    /// Notes a line that is a directive; false for any other.
    pub(super) fn observe(&mut self, line: &[u8]) -> bool {
        let ContextKind::Directives(unit) = self.kind else { return false };
        if line.starts_with(DIRECTIVE) {
            self.at_hand.columns = LogColumns::directed(line, unit).map(Arc::new);
        }
        line.first() == Some(&b'#')
    }

    /// The columns of the lines at hand.
    pub(super) fn columns(&self) -> Option<Arc<LogColumns>> {
        self.at_hand.columns.clone()
    }

    /// The layout of the lines at hand.
    pub(super) fn layout(&self) -> Arc<Layout> {
        let mut layout = self.plain.clone();
        if let Some(columns) = &self.at_hand.columns {
            layout.extra.clone_from(&columns.extra);
        }
        Arc::new(layout)
    }

    /// The pieces that wait for their last one.
    pub(super) fn pieces(&mut self) -> &mut OpenPieces {
        &mut self.at_hand.pieces
    }

    /// Reads what stands before a chunk.
    fn look_back(&mut self, chunk: &LogChunk<'_>) -> io::Result<()> {
        if chunk.start == 0 {
            return Ok(());
        }
        let mut bytes = BufReader::new(unpacked(chunk.file)?.take(chunk.start));
        let (mut line, mut inside) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            let length = bytes.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(());
            }
            let text = without_return(line.strip_suffix(b"\n").unwrap_or(&line));
            match self.kind {
                ContextKind::Pieces(wrapper) => {
                    inside.clear();
                    // What is wrong with a line was said when it was read.
                    let _ = self.at_hand.pieces.unwrap(wrapper, text, &mut inside);
                }
                _ => drop(self.observe(text)),
            }
        }
    }
}

fn unpacked(file: &str) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(stdx::plain_file::open(Path::new(file))?);
    Ok(match file.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    })
}

#[cfg(test)]
mod tests;
