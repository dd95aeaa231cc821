//! Names and lists segment files, and finds the end of the last complete line in one.
//!
//! A segment is called after the offset of its first byte, in 20 digits. So names sort by offset,
//! and the offset of a byte is the name plus its place. `.log` holds plain lines. `.log.zst` holds
//! the same bytes as one zstd frame, made after the segment was sealed, and its seal (`seal`).
//! Other names are passed over. `open`, `sealer` and `recount/src/lines.rs` know these endings by
//! themselves. Invariant: a listing has each segment once, by offset; where both forms exist it is
//! the compressed one. That rests on the order of the variants of `Form`. The bytes of a segment
//! count only up to the start of the next one; `reader`, `sealer` and `recount` keep to that. What
//! lies beyond is a torn line that could not be cut away. Refuses: to change a
//! file, and to read one (`file_reader`).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use stdx::{Disk, DiskFile};

use crate::error::JournalError;
pub(crate) use crate::file_reader::{FileReader, read_exact_at};
use crate::seal;

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

/// Returns the segments of a journal by offset, each once. Where both forms exist it is the
/// compressed one, which gets its name only when it is complete.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Segment>> {
    let names = disk.list(dir)?;
    let mut segments: Vec<_> = names.iter().filter_map(|name| Segment::from_name(name)).collect();
    segments.sort_unstable();
    segments.dedup_by_key(|segment| segment.start);
    Ok(segments)
}

/// Returns the length of a plain file up to the end of its last complete line.
fn length_of_lines(file: &dyn DiskFile) -> io::Result<u64> {
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

/// Returns the length of a segment, in plain bytes, up to the end of its last complete line.
pub(crate) fn complete_length(
    disk: &dyn Disk,
    dir: &Path,
    segment: Segment,
) -> Result<u64, JournalError> {
    let path = segment.path(dir);
    let length = || match segment.form {
        Form::Plain => length_of_lines(&*disk.open_read(&path)?),
        Form::Compressed => match seal::open(disk, &path, segment.start) {
            Err(error) if is_damage(&error) => Ok(0),
            file => unpacked_length(file?),
        },
    };
    length().map_err(JournalError::disk("read", &path))
}

/// Returns the length of the complete lines that a compressed segment unpacks to. Where it is
/// damaged, these end before the damage.
fn unpacked_length(file: Arc<dyn DiskFile>) -> io::Result<u64> {
    let mut plain = zstd::Decoder::new(FileReader { file, at: 0 })?;
    let (mut at, mut end) = (0, 0);
    let mut chunk = vec![0; 64 << 10];
    loop {
        match plain.read(&mut chunk) {
            Ok(0) => return Ok(end),
            Ok(taken) => {
                let last = memchr::memrchr(b'\n', &chunk[..taken]);
                end = last.map_or(end, |last| at + last as u64 + 1);
                at += taken as u64;
            }
            Err(error) if is_damage(&error) => return Ok(end),
            Err(error) => return Err(error),
        }
    }
}

/// Whether trying again cannot help: zstd refused what the file holds, whereas errors of the disk
/// carry a number of the operating system.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.kind() != io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests;
