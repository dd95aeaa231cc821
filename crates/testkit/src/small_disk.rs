//! A disk that fills: a small file system of its own, so that "no space left" is the kernel's word.
//!
//! Invariant: it is unmounted when it is dropped. Refuses: to pass where this user may not mount;
//! the test is skipped and says so.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip;

/// A mounted file system of few bytes; unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of `megabytes` at the folder `at`, which is made if need be. `None`, with the
    /// reason printed, where this user may not mount: the test returns early.
    ///
    /// # Errors
    /// The folder cannot be made, or there is no `mount` to run.
    pub fn mount(at: &Path, megabytes: u32) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(at)?;
        let size = format!("size={megabytes}m");
        let mut mount = Command::new("mount");
        let output = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output()?;
        if output.status.success() {
            return Ok(Some(Self(at.to_owned())));
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        skip(&format!("a full disk needs the right to mount a small one: {}", reason.trim()));
        Ok(None)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A server that still has files open there keeps it; lazily, it goes with them.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
