//! Segment files: names, listing, and the end of the last complete line.
//!
//! A segment is called after the offset of its first byte, in 20 digits: names sort by offset, and
//! the offset of a byte is the name plus its place. `.log` holds plain lines, `.log.zst` the same
//! bytes as one zstd frame, made after the segment was sealed. `.tmp` files are leftovers.
//! The bytes of a segment count only up to the start of the next one; what lies beyond is a torn
//! line that could not be cut away.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use stdx::{Disk, DiskFile};

/// Which of the two forms a segment file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Compressed,
    Plain,
}

/// A segment file in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Segment {
    /// The offset of the first byte.
    pub start: u64,
    pub form: Form,
}

impl Segment {
    pub(crate) const fn plain(start: u64) -> Self {
        Self { start, form: Form::Plain }
    }

    pub(crate) const fn compressed(start: u64) -> Self {
        Self { start, form: Form::Compressed }
    }

    pub(crate) fn path(self, dir: &Path) -> PathBuf {
        dir.join(self.to_string())
    }

    fn from_name(name: &str) -> Option<Self> {
        let (digits, form) = match name.strip_suffix(".log.zst") {
            Some(digits) => (digits, Form::Compressed),
            None => (name.strip_suffix(".log")?, Form::Plain),
        };
        let sound = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self { start: sound.then(|| digits.parse().ok())??, form })
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.form == Form::Plain { "log" } else { "log.zst" };
        write!(f, "{:020}.{suffix}", self.start)
    }
}

/// Returns the segments of a journal by offset, each once: the compressed form where both exist,
/// since it gets its name only when it is complete.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Segment>> {
    let names = disk.list(dir)?;
    let mut segments: Vec<_> = names.iter().filter_map(|name| Segment::from_name(name)).collect();
    segments.sort_unstable();
    segments.dedup_by_key(|segment| segment.start);
    Ok(segments)
}

/// Returns the length of `file` up to the end of its last complete line.
pub(crate) fn complete_length(file: &dyn DiskFile) -> io::Result<u64> {
    let mut end = file.len()?;
    let mut chunk = vec![0; 64 << 10];
    while end > 0 {
        let start = end.saturating_sub(chunk.len() as u64);
        let part = &mut chunk[..(end - start) as usize];
        read_exact_at(file, part, start)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Fills `buffer` from `offset`.
pub(crate) fn read_exact_at(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            taken => filled += taken,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
