//! Records the files that are there: what the last scan saw of each, and what each is to us.
//!
//! Invariant: a file stands here once, however many names it has, by device and inode, under the
//! first of its names. It has one role, which stays until it is set anew. A file that a listing
//! lacks is taken out and returned.
//! That the role of a carrier agrees with the `carrier` of its log, `catalogue` and `scan` see to.
//! Refuses: to read files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stdx::Metadata;

use super::log::{FileKey, LogId, key_of};

/// A file that grows after it rested this long is being written as a log, not as a copy.
const REST: Duration = Duration::from_secs(5);

/// What a file is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    /// Not known yet, or not any more.
    Unknown,
    /// It has no bytes yet, or is packed in a way that is not read.
    Nothing,
    /// A log is read from it.
    Carrier(LogId),
    /// It has what a log has that is read from another file.
    Copy(LogId),
}

/// A file that is there.
#[derive(Debug, Clone)]
pub(super) struct FileRecord {
    pub path: PathBuf,
    pub metadata: Metadata,
    pub role: FileRole,
    /// When it was found, or found changed.
    pub changed: Instant,
    /// It grew after it had rested, as a log does and a copy does not.
    pub grew_again: bool,
    round: u64,
}

/// A file as it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub key: FileKey,
    pub path: PathBuf,
    pub metadata: Metadata,
}

/// A file as a scan meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sighting {
    pub file: ListedFile,
    pub role: FileRole,
    /// No scan has seen it before.
    pub is_new: bool,
    /// It had another name.
    pub is_moved: bool,
    /// It is not what it was, or not known: it has to be looked at.
    pub is_changed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct FileTable {
    files: HashMap<FileKey, FileRecord>,
    round: u64,
}

impl FileTable {
    /// Notes the files of a listing; returns each of them once, by its name, and those that are
    /// not there any more.
    pub(super) fn observe(
        &mut self,
        mut listed: Vec<(PathBuf, Metadata)>,
        now: Instant,
    ) -> (Vec<Sighting>, Vec<FileRecord>) {
        self.round += 1;
        listed.sort_by(|(a, _), (b, _)| a.cmp(b));
        let sightings = listed.into_iter().filter_map(|(path, meta)| self.sight(path, meta, now));
        let sightings = sightings.collect();
        let round = self.round;
        let gone = self.files.extract_if(|_, record| record.round != round);
        (sightings, gone.map(|(_, record)| record).collect())
    }

    /// Notes one file; none when it is another name of one that this scan has seen.
    fn sight(&mut self, path: PathBuf, metadata: Metadata, now: Instant) -> Option<Sighting> {
        let (key, round) = (key_of(&metadata.identity), self.round);
        let Some(known) = self.files.get_mut(&key) else {
            let (role, changed) = (FileRole::Unknown, now);
            let (path_of, grew_again) = (path.clone(), false);
            let record = FileRecord { path: path_of, metadata, role, changed, grew_again, round };
            self.files.insert(key, record);
            let (is_new, is_moved, is_changed) = (true, false, true);
            let file = ListedFile { key, path, metadata };
            return Some(Sighting { file, role, is_new, is_moved, is_changed });
        };
        if known.round == round {
            return None;
        }
        known.round = round;
        let is_moved = known.path != path;
        let is_changed = known.metadata != metadata;
        if is_changed {
            let rested = now.saturating_duration_since(known.changed) >= REST;
            let has_grown = metadata.len > known.metadata.len;
            known.grew_again = has_grown && (known.grew_again || rested);
            known.changed = now;
        }
        known.metadata = metadata;
        let role = known.role;
        if is_moved {
            known.path.clone_from(&path);
        }
        let is_changed = is_changed || role == FileRole::Unknown;
        let file = ListedFile { key, path, metadata };
        Some(Sighting { file, role, is_new: false, is_moved, is_changed })
    }

    pub(super) fn get(&self, key: FileKey) -> Option<&FileRecord> {
        self.files.get(&key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FileKey, &FileRecord)> {
        self.files.iter().map(|(key, record)| (*key, record))
    }

    /// Says what a file is to us, if it is still there.
    pub(super) fn set_role(&mut self, key: FileKey, role: FileRole) {
        if let Some(record) = self.files.get_mut(&key) {
            record.role = role;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// Bytes of files of which it is not known yet whose they are.
    pub(super) fn unknown_bytes(&self) -> u64 {
        let unknown = self.files.values().filter(|record| record.role == FileRole::Unknown);
        unknown.map(|record| record.metadata.len).sum()
    }
}

#[cfg(test)]
mod tests;
