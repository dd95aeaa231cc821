//! Reads the profiles that differ from those in a profile file, as scheduled builds write them.
//!
//! A build of a large file writes what changed into its state (`state.rs`), and the file itself
//! only once in a while. `ProfileFile` asks here first. Presence is answered from memory, data by a
//! read of one block of a table.
//! Invariant: changes are used with the one file that they belong to. They are complete: every
//! entry was read, and its checksum compared, before the first look-up. A table that was read once
//! is not read again for the next build's changes.

use std::io;
use std::path::Path;
use std::sync::Arc;

use generation::FileVersion;

use crate::Lookup;
use crate::filter::{KeyFilter, KeyHashes};
use crate::state::{Manifest, TableFile};
use crate::table::Table;

/// All changes to a file.
pub(crate) struct ProfileChanges {
    rows: u64,
    built_unix_ms: u64,
    /// The oldest first.
    tables: Vec<Arc<ChangeTable>>,
}

struct ChangeTable {
    source: FileVersion,
    table: Table,
    /// The users whose profiles changed.
    users: KeyFilter,
    /// Those of them who have none.
    gone: KeyFilter,
}

impl ProfileChanges {
    /// Reads the changes that `manifest` lists, in `dir`; `last` are those read before.
    ///
    /// # Errors
    /// When a table is missing or damaged.
    pub(crate) fn read(dir: &Path, manifest: &Manifest, last: Option<&Self>) -> io::Result<Self> {
        let tables = manifest.changes.iter().map(|file| {
            let source = FileVersion::at(&dir.join(&file.name))?;
            let known = last.into_iter().flat_map(|last| &last.tables);
            match known.into_iter().find(|table| table.source == source) {
                Some(table) => Ok(Arc::clone(table)),
                None => ChangeTable::read(dir, file, source).map(Arc::new),
            }
        });
        let tables = tables.collect::<io::Result<Vec<_>>>()?;
        Ok(Self { rows: manifest.rows, built_unix_ms: manifest.built_unix_ms, tables })
    }

    /// Whether the file stands as it is.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Whether `other` says the same.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        let sources = |changes: &Self| -> Vec<FileVersion> {
            changes.tables.iter().map(|table| table.source).collect()
        };
        sources(self) == sources(other)
    }

    /// Profiles in the file and in its changes.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// When they were built, in milliseconds since the Unix epoch.
    pub(crate) fn built_unix_ms(&self) -> u64 {
        self.built_unix_ms
    }

    /// Memory that the keys take.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.tables.iter().map(|table| table.users.bytes() + table.gone.bytes()).sum()
    }

    /// Returns whether there is a profile under `key`; none when the file says so.
    pub(crate) fn lookup(&self, key: &[u8]) -> Option<Lookup> {
        let table = self.table_of(key)?;
        Some(if table.gone.holds(key) { Lookup::Absent } else { Lookup::Present })
    }

    /// Returns the data under `key`; none when it did not change, or is gone.
    ///
    /// # Errors
    /// When the table fails.
    pub(crate) fn data(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let Some(table) = self.table_of(key) else { return Ok(None) };
        let mut cursor = table.table.cursor();
        let found = cursor.seek(key)? && cursor.key() == key && !cursor.value().is_empty();
        Ok(found.then(|| cursor.value().to_vec()))
    }

    fn table_of(&self, key: &[u8]) -> Option<&ChangeTable> {
        self.tables.iter().rev().map(Arc::as_ref).find(|table| table.users.holds(key))
    }
}

impl ChangeTable {
    fn read(dir: &Path, file: &TableFile, source: FileVersion) -> io::Result<Self> {
        let table = file.open(dir)?;
        let mut users = KeyHashes::with_capacity((table.entries() as usize).min(1 << 24));
        let mut gone = KeyHashes::with_capacity(0);
        let mut cursor = table.cursor();
        while cursor.next()? {
            users.push(cursor.key());
            if cursor.value().is_empty() {
                gone.push(cursor.key());
            }
        }
        drop(cursor);
        let filter = |keys: KeyHashes| {
            keys.into_filter().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
        };
        Ok(Self { source, users: filter(users)?, gone: filter(gone)?, table })
    }
}
