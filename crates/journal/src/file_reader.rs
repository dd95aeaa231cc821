//! Reads a file at offsets.
//!
//! Invariant: errors are passed on as they came, and nothing is buffered.
//! Refuses: to know what the file holds.

use std::io::{self, Read};
use std::sync::Arc;

use stdx::DiskFile;

/// Reads a file from a place on.
pub(crate) struct FileReader {
    pub file: Arc<dyn DiskFile>,
    pub at: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.file.read_at(buffer, self.at)?;
        self.at += taken as u64;
        Ok(taken)
    }
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
