//! Registers a consumer of the journal and writes down how far it has read, so that `retention`
//! keeps what it still needs.
//!
//! The file `consumers/NAME` has the offset in 20 digits and a line feed, and is replaced whole. It
//! only keeps segments back: where a consumer resumes is known to the place its results live in.
//! Hence it is not synced.
//! Invariant: a file that is old, unreadable or garbage costs disk space, never lines; the latter
//! two count as offset 0. While the directory cannot be listed, nothing is deleted.
//! A consumer whose file is missing is not known. Lines that it has not read may then be deleted,
//! and come as a gap.
//! `tidegate/src/events/run.rs` names consumers after sinks (`events-SINK`). The bound of 64 holds
//! with that prefix; `pipeline/src/plan.rs` allows a sink 64 without it. The file of a sink that
//! was renamed or removed keeps segments back until an operator deletes it.
//! Builds of profiles, replays and exports register none: lines may be deleted before they read
//! them.
//! Refuses: to say where reading resumes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::Disk;

use crate::error::JournalError;

const DIR: &str = "consumers";

/// A consumer whose unread segments are kept.
pub struct Consumer {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary: PathBuf,
}

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
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(sound) {
            return Err(JournalError::ConsumerName { name: name.to_owned() });
        }
        let dir = dir.join(DIR);
        disk.create_dir_all(&dir).map_err(JournalError::disk("create", &dir))?;
        let temporary = dir.join(format!("{name}.tmp"));
        let consumer = Self { disk, path: dir.join(name), temporary };
        consumer.commit(offset)?;
        Ok(consumer)
    }

    /// Lets segments that end at or before `offset` be deleted.
    ///
    /// # Errors
    /// `Disk`; the segments stay.
    pub fn commit(&self, offset: u64) -> Result<(), JournalError> {
        self.replace(offset).map_err(JournalError::disk("commit", &self.path))
    }

    fn replace(&self, offset: u64) -> std::io::Result<()> {
        let file = self.disk.open_write(&self.temporary)?;
        file.write_at(format!("{offset:020}\n").as_bytes(), 0)?;
        self.disk.rename(&self.temporary, &self.path)
    }
}

/// Returns the consumer that has read least, with its offset.
///
/// # Errors
/// When the consumers cannot be listed.
pub(crate) fn slowest(disk: &dyn Disk, dir: &Path) -> std::io::Result<Option<(String, u64)>> {
    let dir = dir.join(DIR);
    let names = match disk.list(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        names => names?.into_iter(),
    };
    let consumers = names.filter(|name| !name.ends_with(".tmp"));
    let offsets = consumers.map(|name| {
        let offset = read(disk, &dir.join(&name)).unwrap_or(0);
        (name, offset)
    });
    Ok(offsets.min_by_key(|(_, offset)| *offset))
}

fn read(disk: &dyn Disk, path: &Path) -> Option<u64> {
    let mut text = [0; 21];
    crate::segment::read_exact_at(&*disk.open_read(path).ok()?, &mut text, 0).ok()?;
    std::str::from_utf8(text.strip_suffix(b"\n")?).ok()?.parse().ok()
}
