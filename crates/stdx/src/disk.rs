//! Declares `Disk` and `DiskFile`, the traits behind which durable code reaches its files.
//!
//! `RealDisk` (`real.rs`) is the operating system. `FaultyDisk` (`faulty.rs`) keeps files in
//! memory, fails on demand, and forgets at a crash what was not synced. `Metadata` and
//! `FileIdentity` are plain data. An unknown creation time is 0, and two files may then have equal
//! identities. Sinks store a `FileIdentity` (`source/files/position.rs` of `pipeline`), so its
//! numbers and units must stay.
//! Invariant, for both disks: `sync_dir` makes the names of files durable and `DiskFile::sync`
//! contents. No other method makes any of these durable. Callers go by `kind` and `raw_os_error` of
//! an error, so it is passed on as it came, without context. A new method needs a fault and a crash
//! in `faulty.rs`.
//! Refuses: buffering, retries of ours, and interpretation of contents. Callers write the rest of a
//! short `append`.

mod faulty;
mod real;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use faulty::{FaultyDisk, Lasting};
pub use real::RealDisk;

/// A file system, or part of one.
///
/// What is opened is a regular file; anything else is an error of the kind `InvalidInput`, at once.
///
/// # Errors
/// Every method passes on the operating system's error.
pub trait Disk: Send + Sync {
    /// Creates a directory and its missing parents.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;

    /// Creates a file that must not exist yet, for reading and appending.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens an existing file for reading and appending.
    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading and overwriting in place, creating it when missing. A link is an
    /// error.
    fn open_write(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens an existing file for reading.
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes the creations, removals and renames in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Gives a file another name at once, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file; open handles keep it readable.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns the names of the files in a directory, and of the links to files, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Returns the names of the directories in a directory, in no order; links are not followed.
    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Returns what is known about a file without opening it.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Takes the exclusive lock on a file, which is created when missing, and holds it until the
    /// answer is dropped or the process ends. A lock held elsewhere is `WouldBlock`.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
}

/// An open file.
///
/// # Errors
/// Every method passes on the operating system's error.
#[expect(clippy::len_without_is_empty, reason = "asking for the length is a system call")]
pub trait DiskFile: Send + Sync {
    /// Appends and returns how many bytes were taken, which may be fewer than given.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Overwrites all of `bytes` at `offset`; only for a file from `open_write`, because Linux
    /// appends whatever is written to a file opened for appending.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Reads at `offset` and returns how many bytes came; 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Makes the contents durable.
    ///
    /// After an error nothing written since the last success can be relied on. A later success on
    /// the same file proves nothing (Rebello et al., "Can Applications Recover from fsync
    /// Failures?", USENIX ATC 2020).
    fn sync(&self) -> io::Result<()>;

    /// Begins to write `length` bytes from `offset` to the disk, without waiting and without any
    /// promise: it leaves less for `sync` to do at once.
    fn start_writing(&self, offset: u64, length: u64);

    /// Returns the length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Returns what is known about the file, whatever its name is by now.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Cuts the file to `length` bytes.
    fn truncate(&self, length: u64) -> io::Result<()>;
}

/// What is known about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// The length in bytes.
    pub len: u64,
    /// Which file it is, whatever its name.
    pub identity: FileIdentity,
    /// When it was last written, in microseconds since the Unix epoch.
    pub modified_us: u64,
}

/// Which file it is: survives a rename, and tells a successor that reuses the inode apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// When the file was created, in microseconds since the Unix epoch; 0 where unknown.
    pub created_us: u64,
}

#[cfg(test)]
mod tests;
