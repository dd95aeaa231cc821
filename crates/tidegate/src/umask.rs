//! Keeps what the program creates from others: sets the process's umask, and finds what is wider.
//!
//! `main.rs` sets the usual one, 027, before anything is created. `commands::load` and `statsd.rs`
//! set what `umask` of the configuration says. So files are 0640 and directories 0750, whoever
//! creates them: a crate, SQLite, or a subprocess, which inherits it.
//! Invariant: bits of the umask that the process was started with stay set.
//! Tidy forbids product code what goes round it: a mode that is set afterwards, and a copy of a
//! file with its mode (`xtask/tidy/src/rules/banned.rs`).
//! Never here: which paths hold data (`holders.rs`), and files of `tidegate lab`. That runs other
//! programs and leaves them their umask; `output.rs` names a mode.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::Mode;

/// What the process was started with.
static INHERITED: OnceLock<Mode> = OnceLock::new();

/// The bits of the owner, without whom nothing could be written.
const OWNER: u32 = 0o700;

/// Permission bits that nothing gets that is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Umask(u32);

impl Default for Umask {
    /// The group reads, others do nothing.
    fn default() -> Self {
        Self(0o027)
    }
}

impl fmt::Display for Umask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

impl Umask {
    /// Reads three or four octal digits.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let is_octal = matches!(text.len(), 3 | 4) && text.bytes().all(|b| b.is_ascii_digit());
        let bits = u32::from_str_radix(text, 8).ok().filter(|bits| is_octal && *bits <= 0o777);
        match bits {
            Some(bits) if bits & OWNER == 0 => Ok(Self(bits)),
            Some(_) => Err(format!("`{text}` keeps the owner out; begin it with 0")),
            None => Err(format!("`{text}` is no umask; write three octal digits, such as 027")),
        }
    }

    /// Sets it, together with what the process was started with.
    pub(crate) fn set(self) {
        let bits = Mode::from_raw_mode(self.0);
        // Asking for the umask sets it, so it is set to what is wanted anyway.
        let inherited = *INHERITED.get_or_init(|| rustix::process::umask(bits));
        rustix::process::umask(inherited | bits);
    }

    /// Returns a line for each path that is there and has bits which nothing new gets.
    pub(crate) fn wider(self, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().filter_map(|path| self.wide(path)).collect()
    }

    fn wide(self, path: &Path) -> Option<String> {
        let found = std::fs::metadata(path).ok()?;
        let mode = found.permissions().mode() & 0o777;
        // A pipe or a device, such as stdout, has the mode that its owner chose.
        let holds_data = found.is_file() || found.is_dir();
        (holds_data && mode & self.0 != 0).then(|| {
            let fitting = mode & !self.0;
            let path = path.display();
            format!("`{path}` has mode {mode:04o}; `chmod {fitting:04o}` fits `umask` {self}")
        })
    }
}

#[cfg(test)]
mod tests;
