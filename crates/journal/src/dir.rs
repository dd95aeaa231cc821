//! Lists the directory of a journal with the sizes of its segments, syncs its entries, and holds
//! the upkeep lock.
//!
//! The lock keeps two threads from renaming and deleting sealed segments at once. Its users keep
//! the rule: `sealer` renames under it, `retention` deletes under it. The plain form of a segment
//! that is compressed already is removed without it.
//! Sizes decide the byte cap (`retention`) and are shown as `disk_bytes` (`journal`). They leave
//! out a segment that is gone between listing and looking. Temporary files do not count, nor does a
//! plain form beside its compressed one.
//! A segment that somebody removed, replaced or cut is noticed here, for `syncer`.
//! Never here: which segments go (`retention`), and the names of segment files (`segment`).

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use stdx::{Disk, DiskFile, Metadata};

use crate::segment::{self, Segment};

/// Where the segments are.
pub(crate) struct JournalDir {
    pub disk: Arc<dyn Disk>,
    path: PathBuf,
    upkeep: Mutex<()>,
}

impl JournalDir {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, path, upkeep: Mutex::default() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until nobody else removes or replaces sealed segments.
    pub(crate) fn lock_upkeep(&self) -> MutexGuard<'_, ()> {
        self.upkeep.lock()
    }

    /// Makes the names of files in it durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.disk.sync_dir(&self.path)
    }

    /// Returns the length of this file, unless readers do not find `length` bytes of it under its
    /// segment's name.
    pub(crate) fn expect_segment(
        &self,
        start: u64,
        file: &dyn DiskFile,
        length: u64,
    ) -> io::Result<u64> {
        let written = file.metadata()?;
        if written.len < length {
            let text = format!("somebody cut it to {} of {length} bytes", written.len);
            return Err(io::Error::other(text));
        }
        match self.disk.metadata(&Segment::plain(start).path(&self.path)) {
            Ok(found) if found.identity == written.identity => Ok(written.len),
            Ok(_) => Err(io::Error::other("somebody put another file in its place")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // `sealer` does not wait for a sync: its own copy is durable.
                let compressed = Segment::compressed(start).path(&self.path);
                let found = self.disk.metadata(&compressed).map(|_| written.len);
                found.map_err(|error| io::Error::new(error.kind(), "somebody removed it"))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the segments by offset.
    pub(crate) fn segments(&self) -> io::Result<Vec<Segment>> {
        segment::list(&*self.disk, &self.path)
    }

    /// Returns the segments with what is known about their files.
    pub(crate) fn sizes(&self) -> io::Result<Vec<(Segment, Metadata)>> {
        let segments = self.segments()?;
        let mut sized = Vec::with_capacity(segments.len());
        for segment in segments {
            match self.disk.metadata(&segment.path(&self.path)) {
                Ok(size) => sized.push((segment, size)),
                // Compressed or deleted since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sized)
    }
}

#[cfg(test)]
mod tests;
