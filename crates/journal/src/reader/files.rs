//! Opens the segments of a journal for reading, plain or compressed.
//!
//! Invariant: of a compressed segment that is damaged anywhere, no line is handed out. It may
//! unpack to other lines before the damage shows, and has one checksum, at its end. So all of it is
//! unpacked once before (`open_proved`). `bytes_at` does without, for who compares them with a
//! hash. One that is of another place is as damaged (`seal`). Refuses: to know what is lost, and to
//! write.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use stdx::Disk;

use crate::error::JournalError;
use crate::seal;
use crate::segment::{self, FileReader, Form, Segment, is_damage};

/// Bytes that are read at a time.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// Where the segments are.
pub(super) struct SegmentFiles {
    pub disk: Arc<dyn Disk>,
    pub dir: PathBuf,
}

impl SegmentFiles {
    /// Returns the end of the last complete line in these segments.
    pub(super) fn end_of(&self, segments: &[Segment]) -> Result<u64, JournalError> {
        match segments.last() {
            Some(last) => Ok(last.start + self.complete_length(*last)?),
            None => Ok(0),
        }
    }

    /// Returns the segments by offset; none where the directory is missing.
    pub(super) fn list(&self) -> Result<Vec<Segment>, JournalError> {
        match segment::list(&*self.disk, &self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed.map_err(JournalError::disk("list", &self.dir)),
        }
    }

    /// Returns the length of a segment up to the end of its last complete line.
    pub(super) fn complete_length(&self, segment: Segment) -> Result<u64, JournalError> {
        segment::complete_length(&*self.disk, &self.dir, segment)
    }

    /// Opens a segment at an offset, once all of it can be unpacked.
    ///
    /// # Errors
    /// `Disk`; one for which [`is_damage`] holds if it is damaged.
    pub(super) fn open_proved(
        &self,
        segment: Segment,
        end: Option<u64>,
        at: u64,
    ) -> Result<OpenSegment, JournalError> {
        if segment.form == Form::Compressed {
            let path = segment.path(&self.dir);
            let file = seal::open(&*self.disk, &path, segment.start);
            let file = file.map_err(JournalError::disk("open", &path))?;
            let failed = JournalError::disk("decompress", &path);
            decompressed(FileReader { file, at: 0 }, u64::MAX).map_err(failed)?;
        }
        self.open(segment, end, at)
    }

    /// Returns up to `length` bytes of a segment; fewer at its end, or where it is damaged.
    pub(super) fn bytes_at(
        &self,
        segment: Segment,
        at: u64,
        length: usize,
    ) -> Result<Vec<u8>, JournalError> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        let failed = || JournalError::disk("read", segment.path(&self.dir));
        let mut source = match self.open(segment, None, at) {
            Err(JournalError::Disk { source, .. }) if is_damage(&source) => return Ok(Vec::new()),
            source => source?,
        };
        while filled < length {
            match source.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(taken) => filled += taken,
                Err(error) if source.is_damaged_by(&error) => break,
                Err(error) => return Err(failed()(error)),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn open(
        &self,
        segment: Segment,
        end: Option<u64>,
        at: u64,
    ) -> Result<OpenSegment, JournalError> {
        let path = segment.path(&self.dir);
        let file = match segment.form {
            Form::Plain => self.disk.open_read(&path),
            Form::Compressed => seal::open(&*self.disk, &path, segment.start),
        };
        let file = file.map_err(JournalError::disk("open", &path))?;
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
}

/// A segment that is being read.
pub(super) struct OpenSegment {
    pub segment: Segment,
    /// The start of the next segment, when there is one.
    pub end: Option<u64>,
    pub input: SegmentInput,
    /// The offset of the next byte of `input`.
    pub at: u64,
}

impl OpenSegment {
    /// Whether reading it failed by damage.
    pub(super) fn is_damaged_by(&self, error: &io::Error) -> bool {
        self.segment.form == Form::Compressed && is_damage(error)
    }
}

pub(super) enum SegmentInput {
    Plain(FileReader),
    Compressed(Box<zstd::Decoder<'static, io::BufReader<FileReader>>>),
}

impl SegmentInput {
    /// Returns how many bytes were read; none at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Compressed(decoder) => decoder.read(buffer),
        }
    }
}

fn decompressed(
    file: FileReader,
    skip: u64,
) -> io::Result<zstd::Decoder<'static, io::BufReader<FileReader>>> {
    let mut decoder = zstd::Decoder::new(file)?;
    io::copy(&mut decoder.by_ref().take(skip), &mut io::sink())?;
    Ok(decoder)
}

#[cfg(test)]
mod tests;
