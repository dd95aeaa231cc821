//! Registers who reads the journal and writes down how far. So `retention` keeps what a consumer
//! still needs, and `backlog` can tell what comes to be deleted unread.
//!
//! The file `consumers/NAME` has the offset in 20 digits and a line feed, and is replaced whole. It
//! only keeps segments back: where a consumer resumes is known to the place its results live in.
//! The file `readers/NAME`, a bookmark, is alike and keeps nothing back. Neither is synced.
//! Invariant: a file that is old, unreadable or garbage costs disk space, never lines; the latter
//! two count as offset 0. While the consumers cannot be listed, nothing is deleted.
//! A consumer whose file is missing is not known. Lines that it has not read may then be deleted,
//! and come as a gap.
//! `tidegate/src/events/run.rs` names consumers after sinks (`events-SINK`). The bound of 64 holds
//! with that prefix; `pipeline/src/plan.rs` allows a sink 64 without it. The file of a sink that
//! was renamed or removed keeps segments back until an operator deletes it.
//! Scheduled builds of profiles have a bookmark (`profiles/src/rebuild.rs`). Replays and exports
//! have none.
//! Refuses: to say where reading resumes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::Disk;

use crate::error::JournalError;

const CONSUMERS: &str = "consumers";
const READERS: &str = "readers";

/// A consumer whose unread segments are kept.
pub struct Consumer(PositionFile);

/// How far somebody has read for whom nothing is kept.
///
/// What retention deletes beyond it is an alarm of the process that writes the journal.
pub struct Bookmark(PositionFile);

impl Consumer {
    /// Registers `name` (letters, digits, `-`, `_`; at most 64) for the journal in `dir`; lines
    /// from `offset` on are kept for it. A name registered before is taken over.
    ///
    /// # Errors
    /// `ConsumerName` for a name that cannot stand in a file name; `Disk` when it cannot be
    /// written down.
    pub fn register(
        dir: &Path,
        name: &str,
        offset: u64,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, JournalError> {
        let consumer = Self(PositionFile::of(&dir.join(CONSUMERS), name, disk)?);
        consumer.commit(offset)?;
        Ok(consumer)
    }

    /// Lets segments that end at or before `offset` be deleted.
    ///
    /// # Errors
    /// `Disk`; the segments stay.
    pub fn commit(&self, offset: u64) -> Result<(), JournalError> {
        self.0.replace(offset)
    }
}

impl Bookmark {
    /// The bookmark `name` (letters, digits, `-`, `_`; at most 64) in the journal in `dir`. It need
    /// not be there.
    ///
    /// # Errors
    /// `ConsumerName` for a name that cannot stand in a file name.
    pub fn new(dir: &Path, name: &str, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        Ok(Self(PositionFile::of(&dir.join(READERS), name, disk)?))
    }

    /// Notes that everything before `offset` is read.
    ///
    /// # Errors
    /// `Disk`; it is then where it was.
    pub fn set(&self, offset: u64) -> Result<(), JournalError> {
        self.0.replace(offset)
    }

    /// Removes it: nobody reads by this name any more.
    pub fn remove(self) {
        // Mostly it is not there; at worst it stays, and is an alarm when its lines go.
        let _ = self.0.disk.remove(&self.0.path);
    }
}

/// A file with an offset.
struct PositionFile {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    path: PathBuf,
    temporary: PathBuf,
}

impl PositionFile {
    fn of(dir: &Path, name: &str, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(sound) {
            return Err(JournalError::ConsumerName { name: name.to_owned() });
        }
        let (path, temporary) = (dir.join(name), dir.join(format!("{name}.tmp")));
        Ok(Self { disk, dir: dir.to_owned(), path, temporary })
    }

    fn replace(&self, offset: u64) -> Result<(), JournalError> {
        let made = self.disk.create_dir_all(&self.dir);
        made.map_err(JournalError::disk("create", &self.dir))?;
        self.write(offset).map_err(JournalError::disk("commit", &self.path))
    }

    fn write(&self, offset: u64) -> std::io::Result<()> {
        let file = self.disk.open_write(&self.temporary)?;
        file.write_at(format!("{offset:020}\n").as_bytes(), 0)?;
        self.disk.rename(&self.temporary, &self.path)
    }
}

/// Who reads, and the end of what they have read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadPosition {
    pub name: String,
    pub offset: u64,
    /// Lines from the offset on are kept for it.
    pub keeps: bool,
}

/// Returns all consumers, and all bookmarks.
///
/// # Errors
/// When they cannot be listed.
pub(crate) fn positions(disk: &dyn Disk, dir: &Path) -> std::io::Result<Vec<ReadPosition>> {
    let mut positions = Vec::new();
    for (kind, keeps) in [(CONSUMERS, true), (READERS, false)] {
        let dir = dir.join(kind);
        let names = match disk.list(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            names => names?.into_iter(),
        };
        positions.extend(names.filter(|name| !name.ends_with(".tmp")).map(|name| {
            let offset = read(disk, &dir.join(&name)).unwrap_or(0);
            ReadPosition { name, offset, keeps }
        }));
    }
    Ok(positions)
}

fn read(disk: &dyn Disk, path: &Path) -> Option<u64> {
    let mut text = [0; 21];
    crate::segment::read_exact_at(&*disk.open_read(path).ok()?, &mut text, 0).ok()?;
    std::str::from_utf8(text.strip_suffix(b"\n")?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
