//! Holds what the builds of a profile file know from one to the next, in the directory `NAME.state`
//! beside it.
//!
//! | file | holds |
//! |---|---|
//! | `manifest` | which tables count, how far the journal was read, for which file and settings |
//! | `N.reads` | what users have read; the first table holds the most |
//! | `N.expiry` | when a user's profile must be looked at although the user reads nothing new |
//! | `N.changes` | profiles that differ from the file's; an empty one is gone |
//!
//! Later tables add to earlier ones; a later change replaces an earlier one. `changes.rs` reads the
//! last kind in every process that serves profiles.
//! Invariant: the manifest is replaced by one rename, and tables are never written again. So a
//! state is that of one build or of the next, whenever its process dies. What the manifest does not
//! list is a leftover. All of it can be built again from the journal, so damage costs time.
//! The names and `FORMAT` outlive versions: another form needs another `FORMAT`.
//! Never here: what the tables mean (`builder/reads.rs`, `builder/expiry.rs`).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stdx::plain_file;
use twox_hash::XxHash3_64;

use crate::table::Table;

const FORMAT: &str = "tidegate-profile-state-1";
const MANIFEST: &str = "manifest";
/// What is read of a manifest at most; a table takes some hundred bytes.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;

/// What the last build left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// `FORMAT`.
    pub format: String,
    /// The settings that profiles depend on; equal for equal ones.
    pub settings: String,
    /// What the items file held.
    pub items: String,
    /// Which file the changes belong to, as [`crate::meta::Meta::identity`] says.
    pub file: String,
    /// When the last build was, in milliseconds since the Unix epoch.
    pub built_unix_ms: u64,
    /// Profiles, changes included.
    pub rows: u64,
    /// Users seen within the window, with a profile or without.
    pub users: u64,
    /// How far the journal was read.
    pub journal: JournalPosition,
    /// Tables of reads, the oldest first.
    pub reads: Vec<TableFile>,
    /// Tables of expiry, the oldest first.
    pub expiry: Vec<TableFile>,
    /// Tables of changes, the oldest first.
    pub changes: Vec<TableFile>,
    /// The number of the next table.
    pub next_table: u64,
}

/// How far a journal was read, and what tells whether it is still the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalPosition {
    /// The first line that it had.
    pub first: u64,
    /// The end of the last line that was read.
    pub offset: u64,
    /// The same, as the journal names it; empty before the first build.
    pub place: String,
    /// The latest time of a read so far, in milliseconds since the Unix epoch.
    pub latest_unix_ms: u64,
    /// The same at earlier offsets, which rise.
    pub marks: Vec<(u64, u64)>,
    /// The first offsets of the segments that were read.
    #[serde(default)]
    pub segments: Vec<u64>,
}

/// A table that a manifest lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableFile {
    /// Its name in the directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// Returns the directory of the state of the profile file at `path`.
pub(crate) fn dir_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".state");
    path.with_file_name(name)
}

/// Returns where the manifest of a state stands.
pub(crate) fn manifest_path(dir: &Path) -> PathBuf {
    dir.join(MANIFEST)
}

impl Manifest {
    /// Reads the manifest of the state in `dir`; none when there is no state.
    ///
    /// # Errors
    /// `InvalidData` when it is damaged, or of another version; those of the system.
    pub(crate) fn read(dir: &Path) -> io::Result<Option<Self>> {
        let text = match plain_file::read_text(&manifest_path(dir), MANIFEST_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the manifest is damaged");
        let (document, checksum) = text.trim_end().rsplit_once('\n').ok_or_else(invalid)?;
        if checksum != hex(document.as_bytes()) {
            return Err(invalid());
        }
        let manifest: Self = serde_json::from_str(document).map_err(|_| invalid())?;
        if manifest.format == FORMAT { Ok(Some(manifest)) } else { Err(invalid()) }
    }

    /// Replaces the manifest of the state in `dir`, and removes what it does not list. Its tables
    /// must be on the disk.
    ///
    /// # Errors
    /// Those of the system; the state is then as it was, unless only its directory was not synced.
    pub(crate) fn write(&mut self, dir: &Path) -> io::Result<()> {
        FORMAT.clone_into(&mut self.format);
        let document = serde_json::to_string(self).map_err(io::Error::other)?;
        let beside = dir.join("manifest.new");
        let mut file = plain_file::create(&beside)?;
        writeln!(file, "{document}\n{}", hex(document.as_bytes()))?;
        file.sync_all()?;
        fs::rename(&beside, manifest_path(dir))?;
        File::open(dir)?.sync_all()?;
        self.remove_leftovers(dir);
        Ok(())
    }

    /// Returns the name of a new table of `kind`.
    pub(crate) fn name(&mut self, kind: &str) -> String {
        self.next_table += 1;
        format!("{}.{kind}", self.next_table)
    }

    /// Removes the tables that no build will read. One that cannot be removed costs its length.
    fn remove_leftovers(&self, dir: &Path) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        let listed = || self.reads.iter().chain(&self.expiry).chain(&self.changes);
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name != MANIFEST && !listed().any(|table| *table.name == *name) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

impl TableFile {
    /// Names the finished table at `dir`/`name`.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn of(dir: &Path, name: String) -> io::Result<Self> {
        let bytes = fs::metadata(dir.join(&name))?.len();
        Ok(Self { name, bytes })
    }

    /// Opens the table.
    ///
    /// # Errors
    /// When it is missing, damaged where looked at, or of another length.
    pub(crate) fn open(&self, dir: &Path) -> io::Result<Table> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("table `{}`: {error}", self.name))
        };
        let table = Table::open(&dir.join(&self.name)).map_err(named)?;
        if table.bytes() == self.bytes {
            return Ok(table);
        }
        Err(named(io::Error::new(io::ErrorKind::InvalidData, "it has another length")))
    }
}

/// Opens tables of the state in `dir`.
///
/// # Errors
/// As [`TableFile::open`].
pub(crate) fn open_all(dir: &Path, files: &[TableFile]) -> io::Result<Vec<Table>> {
    files.iter().map(|file| file.open(dir)).collect()
}

/// Returns the greatest number of a table in `dir`, listed or not. A state that fails must stay as
/// it is until another takes its place, so new tables have new names.
pub(crate) fn last_table(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        name.split_once('.')?.0.parse().ok()
    };
    entries.filter_map(number).max().unwrap_or(0)
}

/// Returns a checksum in hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

#[cfg(test)]
mod tests;
