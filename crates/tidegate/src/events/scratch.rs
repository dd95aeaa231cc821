//! Makes a directory for the time of one command, and removes it when its value is dropped.
//!
//! Invariant: it was made anew under a name with the process's id, so no other command has the same
//! one. Removal is tried once without an error, and a process that is killed leaves it.
//! Never here: what is in it; `copy.rs` and `export.rs` fill it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A directory that goes with its value.
pub(super) struct ScratchDir(pub PathBuf);

impl ScratchDir {
    /// Makes one among the system's temporary files; `what` is part of its name.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn make(what: &str) -> Result<Self> {
        Self::make_in(&std::env::temp_dir(), what)
    }

    /// Makes one in `parent`, under a name that nothing there has.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn make_in(parent: &Path, what: &str) -> Result<Self> {
        let mut number = 0_u64;
        loop {
            let dir = parent.join(format!(".tidegate-{what}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&dir) {
                Ok(()) => return Ok(Self(dir)),
                // Another command of this process made it, or one that died and had the same id.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => {
                    return Err(error).with_context(|| format!("make `{}`", dir.display()));
                }
            }
        }
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What stays behind has a name that says what it was.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
