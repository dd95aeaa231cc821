//! Gives the storage engine (redb) its file through `stdx::Disk`.
//!
//! Invariant: what the engine reads, writes and syncs through this file goes to one
//! `stdx::DiskFile`, so tests can inject faults below it. A read past the end is an error, never
//! fewer bytes.
//! Never here: what the engine writes (`log`), and opening the file (`writer`).

use std::io;
use std::sync::Arc;

use redb::StorageBackend;
use stdx::DiskFile;

/// A file that the engine reads and writes in place.
pub(super) struct LogFile(pub Arc<dyn DiskFile>);

impl std::fmt::Debug for LogFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogFile").finish_non_exhaustive()
    }
}

impl StorageBackend for LogFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let taken = self.0.read_at(out, offset)?;
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += taken as u64;
            out = &mut out[taken..];
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.truncate(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }
}

#[cfg(test)]
mod tests;
