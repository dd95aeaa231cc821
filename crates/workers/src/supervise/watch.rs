//! Finds out whether files that Python has loaded have changed on disk.
//!
//! It compares inode, size and time of modification; a change that keeps all three is not seen. It
//! looks at the first tick after 250 ms, or 250 µs a file where that is longer.
//! Invariants: a change counts once, when a second look finds the same changes, for an editor or a
//! deployment is then done. A command does not wait for the second look. A file that was written
//! while it was imported counts as changed, for nobody knows which version was read.
//! Refuses: to read the files, and to say what a change means (`reload.rs`).

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How often files are looked at; with more than a thousand of them less often.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
const LOOK_TIME_PER_FILE: Duration = Duration::from_micros(250);

/// The files of a pool.
#[derive(Debug, Default)]
pub(super) struct Watch {
    files: HashMap<PathBuf, WatchedFile>,
    /// What the last look found changed.
    pending: HashMap<PathBuf, Option<Stamp>>,
    next: Option<Instant>,
}

#[derive(Debug)]
struct WatchedFile {
    /// None: there was no such file, or what was read of it is unknown.
    known: Option<Stamp>,
    is_preloaded: bool,
}

/// Equal stamps are equal contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

/// Which files have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Files that the preload process has loaded.
    pub preloaded: bool,
    /// Any files.
    pub any: bool,
}

impl Watch {
    /// Notes what was loaded since `since`.
    pub(super) fn add(&mut self, files: &[PathBuf], since: SystemTime, is_preloaded: bool) {
        for path in files {
            // What is preloaded, an import of the app does not load again.
            if !is_preloaded && self.files.get(path).is_some_and(|it| it.is_preloaded) {
                continue;
            }
            let known = stamp(path).filter(|_| !was_written_after(path, since));
            self.files.insert(path.clone(), WatchedFile { known, is_preloaded });
        }
    }

    /// Notes files that are not loaded, but whose change may mend what failed.
    pub(super) fn add_suspects(&mut self, files: impl Iterator<Item = PathBuf>) {
        for path in files {
            let known = stamp(&path);
            self.files.entry(path).or_insert(WatchedFile { known, is_preloaded: false });
        }
    }

    /// Forgets all files but these.
    pub(super) fn keep(&mut self, preloaded: &[PathBuf], imported: &[PathBuf]) {
        let (preloaded, imported): (HashSet<_>, HashSet<_>) =
            (preloaded.iter().collect(), imported.iter().collect());
        self.files.retain(|path, file| {
            file.is_preloaded = preloaded.contains(path);
            file.is_preloaded || imported.contains(path)
        });
    }

    /// Looks, when it is time to; returns each change once.
    pub(super) fn look(&mut self, now: Instant) -> Changed {
        if self.next.is_some_and(|next| now < next) {
            return Changed::default();
        }
        let count = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.next = Some(now + LOOK_INTERVAL.max(LOOK_TIME_PER_FILE.saturating_mul(count)));
        let found = self.differing();
        if found.is_empty() || found != self.pending {
            self.pending = found;
            return Changed::default();
        }
        self.settle()
    }

    /// Looks at once, and takes what it finds for known.
    pub(super) fn settle(&mut self) -> Changed {
        let mut changed = Changed::default();
        for (path, stamp) in self.differing() {
            if let Some(file) = self.files.get_mut(&path) {
                file.known = stamp;
                changed.any = true;
                changed.preloaded |= file.is_preloaded;
            }
        }
        self.pending.clear();
        changed
    }

    fn differing(&self) -> HashMap<PathBuf, Option<Stamp>> {
        let now = self.files.iter().map(|(path, file)| (path, file, stamp(path)));
        let differing = now.filter(|(_, file, stamp)| file.known != *stamp);
        differing.map(|(path, _, stamp)| (path.clone(), stamp)).collect()
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    Some(Stamp { inode: metadata.ino(), bytes: metadata.len(), modified })
}

/// Whether it was written since, and not in a future that would last.
fn was_written_after(path: &Path, since: SystemTime) -> bool {
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| written > since && written <= SystemTime::now())
}

#[cfg(test)]
mod tests;
