//! A folder for the time of one command.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that goes with its value.
pub(super) struct Folder(pub PathBuf);

impl Folder {
    /// Makes one among the system's temporary files; `what` is part of its name.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn make(what: &str) -> Result<Self> {
        Self::make_in(&std::env::temp_dir(), what)
    }

    /// Makes one in `dir`.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn make_in(dir: &Path, what: &str) -> Result<Self> {
        let name = format!(".tidegate-{what}-{}-{}", std::process::id(), stdx::unix_micros());
        let folder = dir.join(name);
        std::fs::create_dir(&folder).with_context(|| format!("make `{}`", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind has a name that says what it was.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
