//! Checks without SQLite that a database file is whole and that nobody is writing to it.
//!
//! SQLite opens a file that was copied by half and answers from the half it has. So three things
//! are looked at. The header says how many pages there ought to be
//! (<https://sqlite.org/fileformat2.html>, section 1.3). A copy that was allocated first and filled
//! later holds pages of zeros. A `-journal` or `-wal` beside the file holds changes that are not in
//! it.
//! Invariant: the cost does not grow with the file. Only 64 pages are looked at for zeros, and none
//! in a file with free pages. A length that SQLite before 3.7.0 left unstated is not checked.
//! Never here: damage within pages, which the full check in `checks.rs` finds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use stdx::plain_file;

use crate::error::ProfilesError;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const HEADER_BYTES: usize = 100;

/// A write-ahead log up to this length holds its header at most and no changes.
const WAL_HEADER_BYTES: u64 = 32;

/// SQLite locks by this byte and leaves the page around it unused.
const LOCK_BYTE: u64 = 1 << 30;

/// Pages looked at, spread over the file.
const SAMPLES: u64 = 64;

/// Checks that the open `file` at `path` is a whole database that nobody is writing to.
///
/// # Errors
/// When it is not, or cannot be read.
pub(crate) fn check(file: &File, path: &Path) -> Result<(), ProfilesError> {
    let bytes = file.metadata().map_err(ProfilesError::io(path))?.len();
    let unfit = |reason: String| Err(ProfilesError::unfit(path, reason));
    if bytes < HEADER_BYTES as u64 {
        return unfit(format!("{bytes} bytes are no SQLite database"));
    }
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).map_err(ProfilesError::io(path))?;
    if !header.starts_with(MAGIC) {
        return unfit("it is no SQLite database".to_owned());
    }
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        other => u64::from(other),
    };
    if page_bytes < 512 || !page_bytes.is_power_of_two() {
        return unfit(format!("its header states pages of {page_bytes} bytes"));
    }
    // SQLite before 3.7.0 did not keep the count; it is valid only with its counter.
    let pages = u64::from(big_endian(&header, 28));
    let counted = big_endian(&header, 24) == big_endian(&header, 92);
    if counted && bytes < pages * page_bytes {
        let whole = pages * page_bytes;
        return unfit(format!("{bytes} bytes of {whole}; copy it elsewhere, then rename it"));
    }
    if big_endian(&header, 36) == 0 {
        check_no_hole(file, path, page_bytes)?;
    }
    check_no_writer(path)
}

/// Refuses pages of zeros. A file with free pages is left to the full check: free pages may hold
/// anything.
fn check_no_hole(file: &File, path: &Path, page_bytes: u64) -> Result<(), ProfilesError> {
    let bytes = file.metadata().map_err(ProfilesError::io(path))?.len();
    let pages = bytes / page_bytes;
    let mut page = vec![0; page_bytes as usize];
    for sample in 1..=SAMPLES {
        let index = pages.saturating_sub(1) * sample / SAMPLES;
        if index == LOCK_BYTE / page_bytes {
            continue;
        }
        file.read_exact_at(&mut page, index * page_bytes).map_err(ProfilesError::io(path))?;
        if page.iter().all(|byte| *byte == 0) {
            let reason =
                format!("page {} of {pages} is empty; the copy is not complete", index + 1);
            return Err(ProfilesError::unfit(path, reason));
        }
    }
    Ok(())
}

fn check_no_writer(path: &Path) -> Result<(), ProfilesError> {
    let journal = beside(path, "-journal");
    if starts_with(&journal, &JOURNAL_MAGIC).map_err(ProfilesError::io(&journal))? {
        return Err(ProfilesError::unfit(path, pending(&journal)));
    }
    let wal = beside(path, "-wal");
    if wal.metadata().is_ok_and(|metadata| metadata.len() > WAL_HEADER_BYTES) {
        return Err(ProfilesError::unfit(path, pending(&wal)));
    }
    Ok(())
}

fn pending(beside: &Path) -> String {
    let beside = beside.display();
    format!("`{beside}` holds changes that are not in it; close the database, then rename it")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn starts_with(path: &Path, magic: &[u8; 8]) -> io::Result<bool> {
    let file = match plain_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let mut start = [0; 8];
    match file.read_exact_at(&mut start, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| start == *magic),
    }
}

fn big_endian(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

#[cfg(test)]
mod tests;
