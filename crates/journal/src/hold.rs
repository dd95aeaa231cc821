//! Holds the directory of a journal for the one process that writes it: its lock, and its session.
//!
//! Somebody may remove the directory or replace it under a running writer. The lock is then that of
//! a file nobody sees, and the session is unknown to readers. So both are looked for before each
//! segment is created, and the lock at each sync. Where they are gone, the directory is made and
//! locked again, and a session begins there (`sessions`). Readers learn by it that what they knew
//! is gone. What was lost before an opening is in the first session that can be noted.
//! Invariant: no segment is created in a directory that another process has locked. Nor is one
//! where lines stand beyond the offset, which readers would take for ours.
//! Never here: that a segment being written is gone; `syncer` asks `dir` for that.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use stdx::{Disk, FileIdentity};

use crate::error::JournalError;
use crate::limit::Limit;
use crate::segment::{self, complete_length};
use crate::sessions::{self, Evidence, Extent, Session};

const LOCK: &str = "lock";

/// The right to write a journal.
pub(crate) struct Hold {
    disk: Arc<dyn Disk>,
    locked: Mutex<LockedDir>,
}

struct LockedDir {
    /// Which file is locked; none where the disk shows no file for a lock.
    file: Option<FileIdentity>,
    /// Kept for its drop.
    _lock: Box<dyn Send + Sync>,
    /// The id of the session; 0 where it is not noted yet.
    session: u64,
    /// What was lost when it was opened, until a session says so.
    evidence: Evidence,
}

impl Hold {
    /// Makes the directory if it is missing, and locks it.
    ///
    /// # Errors
    /// `Locked` when another process holds it.
    pub(crate) fn take(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, JournalError> {
        disk.create_dir_all(dir).map_err(JournalError::disk("create", dir))?;
        let taken = lock(&*disk, dir).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => JournalError::Locked { dir: dir.to_owned() },
            _ => JournalError::disk("lock", dir)(error),
        });
        let (file, lock) = taken?;
        let locked = LockedDir { file, _lock: lock, session: 0, evidence: Evidence::default() };
        Ok(Self { disk, locked: Mutex::new(locked) })
    }

    /// Begins the session `id` of this process, or leaves that to [`Hold::renew`].
    pub(crate) fn begin(&self, dir: &Path, extent: &Extent, id: u64) {
        let mut locked = self.locked.lock();
        locked.evidence = extent.evidence.clone();
        match sessions::begin(&*self.disk, dir, extent, id) {
            Ok(()) => locked.session = id,
            Err(error) => {
                let dir = dir.display();
                tracing::warn!(%error, %dir, "a session of the journal is not noted");
            }
        }
    }

    /// Returns the id of the next session.
    pub(crate) fn next_id(known: &[Session]) -> u64 {
        sessions::next_id(known, stdx::unix_micros())
    }

    /// Returns the session that writes; 0 where it is not noted yet.
    pub(crate) fn session(&self) -> u64 {
        self.locked.lock().session
    }

    /// Fails unless the lock is still the one that was taken.
    pub(crate) fn expect_lock(&self, dir: &Path) -> io::Result<()> {
        match identity(&*self.disk, dir)? == self.locked.lock().file {
            true => Ok(()),
            false => Err(io::Error::other("somebody replaced the directory, or its file `lock`")),
        }
    }

    /// Takes the directory anew if it is not the one that is held; lines come from `offset` on.
    ///
    /// # Errors
    /// Why it is not held, in words.
    pub(crate) fn renew(&self, dir: &Path, offset: u64) -> Result<(), String> {
        let mut locked = self.locked.lock();
        let disk = &*self.disk;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock => {
                format!("another process has locked `{}`: end one of the two", dir.display())
            }
            _ => format!("take `{}` again: {error}", dir.display()),
        };
        if identity(disk, dir).map_err(failed)? != locked.file {
            disk.create_dir_all(dir).map_err(failed)?;
            let (file, lock) = lock(disk, dir).map_err(failed)?;
            (locked.file, locked._lock, locked.session) = (file, lock, 0);
            let dir = dir.display();
            tracing::error!(%dir, "the directory of the journal was removed or replaced");
        }
        let known = sessions::read(disk, dir).map_err(failed)?;
        if known.iter().any(|known| known.id == locked.session) {
            return Ok(());
        }
        let segments = segment::list(disk, dir).map_err(failed)?;
        let first = segments.first().map_or(offset, |segment| segment.start.min(offset));
        let end = match segments.last() {
            Some(last) => {
                last.start + complete_length(disk, dir, *last).map_err(|it| it.to_string())?
            }
            None => 0,
        };
        if end > offset {
            return Err(format!(
                "`{}` holds another journal, of {end} bytes where this one has {offset}: move it \
                 away, or start again to go on behind it",
                dir.display()
            ));
        }
        let extent = Extent { first, end: offset, evidence: locked.evidence.clone() };
        locked.session = self.begin_anew(dir, &known, &extent).map_err(failed)?;
        locked.evidence.in_doubt = false;
        Ok(())
    }

    /// Begins another session of this process; returns its id.
    fn begin_anew(&self, dir: &Path, known: &[Session], extent: &Extent) -> io::Result<u64> {
        let (disk, offset) = (&self.disk, extent.end);
        // Without its file, readers would take lines that are not durable.
        let id = Self::next_id(known);
        let named = sessions::named(id, known, &extent.evidence.former);
        Limit::new(disk.clone(), dir).write(offset, &named)?;
        sessions::begin(&**disk, dir, extent, id)?;
        if let Some(witness) = Limit::witness(disk.clone(), dir) {
            // The next sync tries it again, and says why not.
            let _ = witness.begin(offset, &named);
        }
        Ok(id)
    }
}

fn lock(disk: &dyn Disk, dir: &Path) -> io::Result<(Option<FileIdentity>, Box<dyn Send + Sync>)> {
    let lock = disk.lock(&dir.join(LOCK))?;
    Ok((identity(disk, dir)?, lock))
}

/// Which file is the lock by now.
fn identity(disk: &dyn Disk, dir: &Path) -> io::Result<Option<FileIdentity>> {
    match disk.metadata(&dir.join(LOCK)) {
        Ok(found) => Ok(Some(found.identity)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
