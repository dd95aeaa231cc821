//! Owns a profile file in the making, which appears in its place complete or not at all.
//!
//! It is written beside its place as `.NAME.building`. A lock on it, from the first read to the
//! last, keeps two builds of one file and its state apart: the second gets `Busy`. A build that
//! dies leaves that file, and the next build takes it over.
//! Invariant: contents are synced before the rename, and the directory after it. Dropped
//! unpublished, the file is removed. If only the sync of the directory fails, `publish` is an error
//! although the new file is in place.
//! Never here: what is in the file (`builder/write.rs`).

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::ProfilesError;

/// A file in the making, removed when dropped unpublished.
pub(crate) struct Unfinished {
    path: PathBuf,
    file: File,
    published: bool,
}

impl Unfinished {
    /// Creates or takes over the file for `target`, empty and locked, and its directory.
    ///
    /// # Errors
    /// When the directory cannot be written to, or another build holds the lock.
    pub(crate) fn create(target: &Path) -> Result<Self, ProfilesError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.building"));
        let io = |error| ProfilesError::io(&path)(error);
        std::fs::create_dir_all(dir_of(target)).map_err(io)?;
        let file = stdx::plain_file::overwrite(&path).map_err(io)?;
        let busy = || ProfilesError::Busy { path: target.to_owned() };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Between opening and locking, the build that held the lock may have published the file:
        // it would be wrong to empty it.
        let opened = file.metadata().map_err(io)?;
        let named = std::fs::metadata(&path);
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Err(busy());
        }
        file.set_len(0).map_err(io)?;
        Ok(Self { path, file, published: false })
    }

    /// Where to write.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Empties the file, for a second attempt.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn clear(&self) -> std::io::Result<()> {
        self.file.set_len(0)
    }

    /// Synchronises the file, puts it in place, and returns its size.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn publish(mut self, target: &Path) -> std::io::Result<u64> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, target)?;
        self.published = true;
        File::open(dir_of(target))?.sync_all()?;
        Ok(self.file.metadata()?.len())
    }
}

fn dir_of(target: &Path) -> &Path {
    target.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."))
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.published {
            std::fs::remove_file(&self.path).ok();
        }
    }
}
