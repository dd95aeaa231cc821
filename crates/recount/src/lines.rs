//! Reads the lines of log files plainly: from the first byte to where the file was delivered.
//!
//! Files may be packed by gzip or zstd, as `pipeline/src/source/files/unpack.rs` knows them. Also
//! here: the segments of a journal, by their names, which `journal/src/segment.rs` defines.
//! Invariant: every byte of the delivered part belongs to exactly one line. A line of more than 511
//! KiB with its line feed is too long: only its first 1,024 bytes come. Such a line, and one
//! without a line feed, is not whole. docs/operating/events.md names both bounds. A line of more
//! than 1 GiB comes in parts of that size, and its last part counts as a line of its own.
//! A plain file that is shorter than what was delivered is no error: `each` returns how many bytes
//! were there. A packed one that is cut off before that is an error.
//! `LINE_BYTES_MAX` is the delivery's limit for lines of files behind their first 1,024 bytes. That
//! is `CHUNK_BYTES` in `pipeline/src/source/files/reader.rs`, less the 1,024 bytes before the line.
//! Lines nearer to the start may be longer there, and the journal's have no limit there.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

/// The longest line with its line feed that is delivered.
const LINE_BYTES_MAX: usize = (512 << 10) - 1024;
/// What is kept of a longer one.
const BEGINNING_BYTES: usize = 1024;

/// A part of a log that was delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeliveredLog {
    /// Its file.
    pub path: PathBuf,
    /// The offset of the file's first byte: 0, but in a journal's segments.
    pub start: u64,
    /// The offset behind the last delivered byte.
    pub end: u64,
}

/// A line, and where its first byte stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLine<'l> {
    /// The offset in the log.
    pub offset: u64,
    /// The bytes before the line feed; of one that is too long, its beginning.
    pub bytes: &'l [u8],
    /// It ends in a line feed, and is not too long.
    pub is_whole: bool,
}

impl DeliveredLog {
    /// Hands every line to `seen`; returns how many bytes were there.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn each(&self, mut seen: impl FnMut(LogLine<'_>)) -> io::Result<u64> {
        let mut left = self.end.saturating_sub(self.start);
        let mut bytes = unpacked(&self.path)?.take(left);
        let (mut offset, mut line) = (self.start, Vec::new());
        loop {
            line.clear();
            // Only damage has lines that do not fit memory.
            let length = bytes.by_ref().take(1 << 30).read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(offset - self.start);
            }
            let is_ended = line.pop_if(|last| *last == b'\n').is_some();
            let is_whole = is_ended && length <= LINE_BYTES_MAX;
            if length > LINE_BYTES_MAX {
                line.truncate(BEGINNING_BYTES);
            }
            seen(LogLine { offset, bytes: &line, is_whole });
            offset += length as u64;
            left = left.saturating_sub(length as u64);
        }
    }
}

fn unpacked(path: &Path) -> io::Result<BufReader<Box<dyn Read>>> {
    let mut file = BufReader::new(stdx::plain_file::open(path)?);
    let head = file.fill_buf()?;
    let plain: Box<dyn Read> = match head {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    };
    Ok(BufReader::with_capacity(1 << 18, plain))
}

/// The segments of the journal in `dir` up to the offset `end`.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn of_journal(dir: &Path, end: u64) -> io::Result<Vec<DeliveredLog>> {
    let mut segments: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digits = file.strip_suffix(".log.zst").or_else(|| file.strip_suffix(".log"));
        let start = digits.filter(|digits| digits.len() == 20).and_then(|text| text.parse().ok());
        segments.extend(start.map(|start| (start, path)));
    }
    // A packed one is whole once it has its name, and the plain one goes then.
    segments
        .sort_by_key(|(start, path)| (*start, path.extension().is_some_and(|end| end == "log")));
    segments.dedup_by_key(|(start, _)| *start);
    let ends = segments.iter().skip(1).map(|(start, _)| *start).chain([u64::MAX]);
    let ends: Vec<u64> = ends.map(|next| next.min(end)).collect();
    let delivered = segments.into_iter().zip(ends).filter(|((start, _), end)| start < end);
    Ok(delivered.map(|((start, path), end)| DeliveredLog { path, start, end }).collect())
}
