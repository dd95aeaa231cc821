//! Writes and reads what stands behind the lines of a compressed segment: of which journal it is,
//! and at which offset it begins.
//!
//! A file is known by its name alone otherwise, and the names recur in each journal. So one file of
//! a backup, or of another journal, would be read for the lines that are gone. The seal is a frame
//! that zstd passes over, at the end: programs tell a compressed file by its first bytes. It has
//! the offset, and the session in which the first byte was written; 0 where that is not known.
//! Invariant: a segment whose seal is damaged, or of another place, is never unpacked; it counts as
//! damaged. Segments of older versions have none, and are read. Where the file of sessions is
//! damaged, or does not know the offset, the session is not compared. Refuses: to know the lines.
//! Their checksum is zstd's.

use std::io;
use std::path::Path;
use std::sync::Arc;

use stdx::{Disk, DiskFile};

use crate::file_reader::read_exact_at;
use crate::sessions;

/// The first bytes of a frame that zstd passes over, and the length of its text (RFC 8878, 3.1.2).
const HEAD: [u8; 8] = [0x5e, 0x2a, 0x4d, 0x18, TEXT_BYTES as u8, 0, 0, 0];
const NAME: &str = "tidegate ";
const TEXT_BYTES: usize = NAME.len() + 42;

/// Returns the seal of the segment that begins at `start`.
pub(crate) fn frame(disk: &dyn Disk, dir: &Path, start: u64) -> io::Result<Vec<u8>> {
    let session = sessions::of_byte(disk, dir, start)?.unwrap_or(0);
    let text = format!("{NAME}{start:020} {session:020}\n");
    Ok([&HEAD[..], text.as_bytes()].concat())
}

/// Opens the compressed segment at `path`, if it is of its journal, and begins at `place`.
///
/// # Errors
/// Those of the disk; one that counts as damage where it is not.
pub(crate) fn open(disk: &dyn Disk, path: &Path, place: u64) -> io::Result<Arc<dyn DiskFile>> {
    let file = disk.open_read(path)?;
    let Some((start, session)) = read(&*file)? else { return Ok(file) };
    if start != place {
        let text = format!("it is the segment of offset {start} under another name");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    let known = if session == 0 { None } else { sessions::of_byte(disk, dir, start)? };
    if known.is_some_and(|known| known != session) {
        let text = "it is a segment of another journal";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(file)
}

fn read(file: &dyn DiskFile) -> io::Result<Option<(u64, u64)>> {
    let mut frame = [0; HEAD.len() + TEXT_BYTES];
    let Some(at) = file.len()?.checked_sub(frame.len() as u64) else { return Ok(None) };
    read_exact_at(file, &mut frame, at)?;
    let Some(text) = frame.strip_prefix(&HEAD) else { return Ok(None) };
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its seal is damaged");
    parse(text).map(Some).ok_or_else(damaged)
}

fn parse(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let (start, session) = text.strip_prefix(NAME)?.strip_suffix('\n')?.split_once(' ')?;
    Some((start.parse().ok()?, session.parse().ok()?))
}
