//! Reads the complete lines of a journal from the end of any line on, sealed or live, in any
//! process.
//!
//! Invariants: lines come in the order of their offsets, each once, and none beyond the limit
//! (`limit`). Offsets for which no line comes are reported as a gap: deleted by retention, lost by
//! the disk, or in a damaged compressed segment.
//! A line is whatever stands before a line feed. After a failed fsync it may be garbage or not
//! durable; the caller's decoder must tell.
//! An offset beyond the end or inside a line is an error. So is damage before the offset to begin
//! at, in its compressed segment. A read takes up to 256 KiB more; memory is that and the longest
//! line, which has no bound here.
//! Sinks store offsets as checkpoints (`pipeline/src/source/journal.rs`), so what an offset means
//! must stay. `recount/src/lines.rs` reads the same files by its own code.
//! `profiles/src/rebuild.rs` and `lab/src/import/exchanges.rs` begin at the first line that is
//! left, and go on over gaps.
//! Refuses: to write anything. Keeping segments from deletion is the work of `consumer`.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::Disk;

use crate::error::JournalError;
use crate::limit::Limit;
use crate::segment::{self, FileReader, Form, Segment};

const CHUNK_BYTES: usize = 256 << 10;

/// Reads lines from a journal.
pub struct Reader {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// The end of the last line or gap delivered.
    offset: u64,
    /// Up to where lines are known to be durable.
    limit: u64,
    source: Option<OpenSegment>,
    /// Bytes from `offset` on, after `delivered` bytes that the caller has had.
    buffer: Vec<u8>,
    delivered: usize,
}

/// What comes next in a journal.
#[derive(Debug)]
pub enum JournalRead<'a> {
    /// Complete lines, at least one.
    Lines(JournalLines<'a>),
    /// There are no lines between these offsets.
    Gap {
        /// The end of the last line before the gap.
        from: u64,
        /// The start of the first line after it.
        to: u64,
    },
    /// Nothing more at present; ask again later.
    CaughtUp,
}

/// Complete lines, without their line feeds, each with the offset of its end.
#[derive(Debug, Clone)]
pub struct JournalLines<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> JournalLines<'a> {
    /// The lines that are left, each with its line feed.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for JournalLines<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let length = memchr::memchr(b'\n', self.bytes)?;
        let line = &self.bytes[..length];
        self.bytes = &self.bytes[length + 1..];
        self.offset += length as u64 + 1;
        Some((line, self.offset))
    }
}

impl Reader {
    /// Opens the journal in `dir` for reading from its first line; it need not exist yet.
    ///
    /// # Errors
    /// `Disk`.
    pub fn open(dir: &Path, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let mut reader = Self {
            disk,
            dir: dir.to_owned(),
            offset: 0,
            limit: 0,
            source: None,
            buffer: Vec::new(),
            delivered: 0,
        };
        reader.offset = reader.segments()?.first().map_or(0, |segment| segment.start);
        Ok(reader)
    }

    /// Reads on from `offset`: the end of a line of this journal, or 0 for the very first line.
    /// What was deleted since is reported as a gap.
    ///
    /// # Errors
    /// `BeyondEnd` or `NotALineEnd` when the offset was not made by this journal; `Disk`.
    pub fn from(mut self, offset: u64) -> Result<Self, JournalError> {
        let segments = self.segments()?;
        let end = match segments.last() {
            Some(last) if offset > last.start => last.start + self.complete_length(*last)?,
            Some(_) => u64::MAX,
            None => 0,
        };
        if offset > end {
            return Err(JournalError::BeyondEnd { offset, end });
        }
        let within = segments.iter().rev().find(|segment| segment.start < offset);
        let starts = segments.iter().any(|segment| segment.start == offset);
        self.offset = offset;
        if let (Some(segment), false) = (within, starts) {
            // The byte before the offset must be a line feed, unless it fell into a gap.
            let mut source = self.source(*segment, None, offset - 1)?;
            let mut last = [0];
            let read = source.input.read(&mut last);
            let taken = read.map_err(JournalError::disk("read", segment.path(&self.dir)))?;
            if taken == 1 && last != *b"\n" {
                return Err(JournalError::NotALineEnd { offset });
            }
        }
        Ok(self)
    }

    /// Returns the end of the last line or gap delivered.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the offset up to which there is something to read at present.
    ///
    /// # Errors
    /// `Disk`.
    pub fn end(&mut self) -> Result<u64, JournalError> {
        self.refresh_limit()?;
        if self.limit < u64::MAX {
            return Ok(self.limit);
        }
        match self.segments()?.last() {
            Some(last) => Ok(last.start + self.complete_length(*last)?),
            None => Ok(0),
        }
    }

    /// Returns the next lines, a gap, or that there is nothing more at present.
    ///
    /// # Errors
    /// `Disk`; asking again tries again.
    pub fn read(&mut self) -> Result<JournalRead<'_>, JournalError> {
        self.buffer.drain(..std::mem::take(&mut self.delivered));
        loop {
            let step = match self.source.take() {
                None => self.next_source()?,
                Some(source) => self.next_bytes(source)?,
            };
            match step {
                ReadStep::Again => {}
                ReadStep::CaughtUp => return Ok(JournalRead::CaughtUp),
                ReadStep::Gap(to) => {
                    let from = std::mem::replace(&mut self.offset, to);
                    self.buffer.clear();
                    return Ok(JournalRead::Gap { from, to });
                }
                ReadStep::Lines(length) => {
                    let offset = self.offset;
                    self.offset += length as u64;
                    self.delivered = length;
                    return Ok(JournalRead::Lines(JournalLines {
                        bytes: &self.buffer[..length],
                        offset,
                    }));
                }
            }
        }
    }

    fn next_source(&mut self) -> Result<ReadStep, JournalError> {
        self.buffer.clear();
        let segments = self.segments()?;
        let after = segments.partition_point(|segment| segment.start <= self.offset);
        let next = segments.get(after).map(|segment| segment.start);
        let Some(segment) = after.checked_sub(1).map(|at| segments[at]) else {
            return Ok(next.map_or(ReadStep::CaughtUp, ReadStep::Gap));
        };
        match self.source(segment, next, self.offset) {
            Ok(source) => self.source = Some(source),
            // Compressed or deleted since it was listed.
            Err(JournalError::Disk { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(ReadStep::Again)
    }

    /// Reads on in a source, and puts it back unless it is finished.
    fn next_bytes(&mut self, mut source: OpenSegment) -> Result<ReadStep, JournalError> {
        let end = source.end.unwrap_or(u64::MAX);
        if source.at >= end {
            return Ok(if self.offset < end { ReadStep::Gap(end) } else { ReadStep::Again });
        }
        if source.at >= self.limit {
            self.refresh_limit()?;
        }
        let room = end.min(self.limit).saturating_sub(source.at).min(CHUNK_BYTES as u64) as usize;
        let filled = self.buffer.len();
        self.buffer.resize(filled + room, 0);
        let read = source.input.read(&mut self.buffer[filled..]);
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        let taken = match read {
            Err(error) if source.is_damaged_by(&error) => {
                let segment = source.segment;
                tracing::error!(%segment, %error, "a compressed segment is damaged");
                0
            }
            read => read.map_err(JournalError::disk("read", source.segment.path(&self.dir)))?,
        };
        source.at += taken as u64;
        let step = match memchr::memrchr(b'\n', &self.buffer[filled..]) {
            Some(last) => ReadStep::Lines(filled + last + 1),
            None if taken > 0 => ReadStep::Again,
            None if source.end.is_some() && room > 0 => return Ok(ReadStep::Gap(end)),
            None => self.look_for_end(&mut source)?,
        };
        self.source = Some(source);
        Ok(step)
    }

    /// At the end of what a segment holds: whether the writer has left it.
    fn look_for_end(&self, source: &mut OpenSegment) -> Result<ReadStep, JournalError> {
        if source.end.is_none() {
            let segments = self.segments()?;
            let next = segments.iter().find(|segment| segment.start > source.segment.start);
            source.end = next.map(|segment| segment.start);
            if source.end.is_some() {
                // Lines may have come between the last read and the writer's leaving.
                return Ok(ReadStep::Again);
            }
        }
        Ok(ReadStep::CaughtUp)
    }

    fn source(
        &self,
        segment: Segment,
        end: Option<u64>,
        at: u64,
    ) -> Result<OpenSegment, JournalError> {
        let path = segment.path(&self.dir);
        let file = self.disk.open_read(&path).map_err(JournalError::disk("open", &path))?;
        let skipped = at - segment.start;
        let input = match segment.form {
            Form::Plain => SegmentInput::Plain(FileReader { file, at: skipped }),
            Form::Compressed => {
                let failed = JournalError::disk("decompress", &path);
                let plain = decompressed(FileReader { file, at: 0 }, skipped).map_err(failed)?;
                SegmentInput::Compressed(Box::new(plain))
            }
        };
        Ok(OpenSegment { segment, end, input, at })
    }

    /// Returns the length of a segment up to the end of its last complete line.
    fn complete_length(&self, segment: Segment) -> Result<u64, JournalError> {
        segment::complete_length(&*self.disk, &self.dir, segment)
    }

    fn refresh_limit(&mut self) -> Result<(), JournalError> {
        let limit = Limit::read(&*self.disk, &self.dir);
        self.limit = limit.map_err(JournalError::disk("read the limit of", &self.dir))?;
        Ok(())
    }

    fn segments(&self) -> Result<Vec<Segment>, JournalError> {
        match segment::list(&*self.disk, &self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed.map_err(JournalError::disk("list", &self.dir)),
        }
    }
}

struct OpenSegment {
    segment: Segment,
    /// The start of the next segment, when there is one.
    end: Option<u64>,
    input: SegmentInput,
    /// The offset of the next byte of `input`.
    at: u64,
}

impl OpenSegment {
    /// Returns whether trying again cannot help: zstd refused what the file holds, whereas
    /// errors of the disk carry a number of the operating system.
    fn is_damaged_by(&self, error: &io::Error) -> bool {
        self.segment.form == Form::Compressed && error.raw_os_error().is_none()
    }
}

enum SegmentInput {
    Plain(FileReader),
    Compressed(Box<zstd::Decoder<'static, io::BufReader<FileReader>>>),
}

impl SegmentInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Compressed(decoder) => decoder.read(buffer),
        }
    }
}

enum ReadStep {
    Again,
    CaughtUp,
    /// Nothing comes up to this offset.
    Gap(u64),
    /// This many bytes of the buffer are complete lines.
    Lines(usize),
}

fn decompressed(
    file: FileReader,
    skip: u64,
) -> io::Result<zstd::Decoder<'static, io::BufReader<FileReader>>> {
    let mut decoder = zstd::Decoder::new(file)?;
    io::copy(&mut decoder.by_ref().take(skip), &mut io::sink())?;
    Ok(decoder)
}
