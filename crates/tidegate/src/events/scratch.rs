//! Makes a directory for the time of one command, and removes it when its value is dropped.
//!
//! Invariant: it was made anew under a name with the process's id, so no other command has the same
//! one. Nobody else can look into it, for it holds rows and users. SIGINT, SIGTERM and SIGHUP
//! remove it, too, and then end the process as they would have; one that was ignored at the start
//! stays so. Removal gives no error, and a process that is killed by SIGKILL leaves the directory.
//! The files cannot lose their names while they are used, since SQLite opens them again by name.
//! So a command that makes one may not end by SIGPIPE (`only_prints` in `main.rs`).
//! Never here: what is in it; `copy.rs` and `export.rs` fill it.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often a directory is emptied in which this process still makes files.
const ATTEMPTS: usize = 100;

/// Those that are there.
static DIRS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

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
        remove_on_signals().context("install signal handlers")?;
        let mut number = 0_u64;
        loop {
            let dir = parent.join(format!(".tidegate-{what}-{}-{number}", std::process::id()));
            // While a signal waits for it, no directory is made that it would not know.
            let mut dirs = DIRS.lock();
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => {
                    dirs.push(dir.clone());
                    return Ok(Self(dir));
                }
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
        let mut dirs = DIRS.lock();
        dirs.retain(|dir| *dir != self.0);
        remove(&self.0);
    }
}

/// Has the signals that end a process remove what is there first.
fn remove_on_signals() -> std::io::Result<()> {
    static INSTALLED: Once = Once::new();
    let mut done = Ok(());
    INSTALLED.call_once(|| done = install());
    done
}

fn install() -> std::io::Result<()> {
    let ignored = ignored_signals();
    let is_ignored = |signal: i32| ignored >> (signal - 1) & 1 == 1;
    let all = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(all)?;
    std::thread::Builder::new().name("scratch".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let dirs = DIRS.lock();
            dirs.iter().for_each(|dir| remove(dir));
            // It ends the process, and no other directory is made before.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The signals that are ignored, such as SIGHUP under `nohup`, as the system's mask.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Empties and removes a directory. What stays behind has a name that says what it was.
fn remove(dir: &Path) {
    let is_gone = |_: &usize| match std::fs::remove_dir_all(dir) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    let _ = (0..ATTEMPTS).find(is_gone);
}

#[cfg(test)]
mod tests;
