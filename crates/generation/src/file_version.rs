//! Identifies a file's content without reading it: device, inode, time of the last write, length.
//!
//! A replacement by rename changes the inode, an overwrite in place normally the time. All users
//! take equal versions as equal content: `watched.rs` here, `profiles`, `serving` and `tidegate`.
//! Not noticed: a write that keeps the length, within one tick of the kernel's clock or with the
//! time set back afterwards.
//! Invariant: two versions are equal only if all four values are. Symbolic links are followed.
//! No value may change when a file loses its name, as the time of the inode's change does. That
//! is because `profiles/src/file.rs` goes on checking an open file after it was replaced.
//! Nothing stores versions. Refuses: to read the content, which would cost more than a poll may.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file a generation was loaded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    /// Device that holds the file.
    pub device: u64,
    /// Inode of the file on that device.
    pub inode: u64,
    /// Time of the last write, in nanoseconds since the Unix epoch; negative before it.
    pub modified_unix_nanos: i128,
    /// Length of the file.
    pub size_bytes: u64,
}

impl FileVersion {
    /// Returns the identity of the file at `path`, symbolic links followed.
    ///
    /// # Errors
    /// Those of the system: most often the file is missing.
    pub fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    /// Returns the identity that `metadata` describes; with an open file's metadata, this tells
    /// whether the content under the handle has been overwritten in place.
    pub fn of(metadata: &Metadata) -> Self {
        let seconds = i128::from(metadata.mtime());
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            modified_unix_nanos: seconds * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
            size_bytes: metadata.len(),
        }
    }
}
