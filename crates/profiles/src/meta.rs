//! Reads the `meta` table that this crate's builder leaves in its files, and computes their
//! checksum.
//!
//! The number of rows makes the quick checks quick. The checksum over all rows makes the full check
//! full: SQLite itself notices broken pages, not changed letters. The table also has the format,
//! the keying and the time of the build.
//! Invariant: None for files of other builders, also if they have a `meta` table of another form. A
//! number that cannot be read is 0. Any format that begins with `tidegate-profiles-` is returned
//! here; `checks.rs` refuses all but `FORMAT`.
//! `builder/write.rs` writes the table. Another checksum needs another `FORMAT`: files in use would
//! fail their full check. The checksum guards against accidents, not against forgery.

use std::hash::Hasher;

use rusqlite::Connection;
use siphasher::sip::SipHasher13;

/// The value of `format` in files of this builder.
pub(crate) const FORMAT: &str = "tidegate-profiles-1";

/// What a builder wrote about its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub format: String,
    pub rows: u64,
    /// [`crate::UserKey::mark`] of the keying.
    pub users: String,
    pub checksum: String,
    pub built_unix_ms: u64,
}

impl Meta {
    /// Returns a text that tells this build of a file from every other.
    pub(crate) fn identity(&self) -> String {
        format!("{} {} {} {}", self.checksum, self.rows, self.built_unix_ms, self.users)
    }

    /// Returns the meta table; none when the file has no such table of our builder.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let mut columns = connection.prepare("PRAGMA table_info(meta)")?;
        let columns = columns.query_map([], |row| row.get::<_, String>("name"))?;
        if columns.collect::<rusqlite::Result<Vec<_>>>()? != ["key", "value"] {
            return Ok(None);
        }
        let mut statement = connection.prepare("SELECT key, value FROM meta LIMIT 100")?;
        let mut rows = statement.query([])?;
        let mut meta = Self::default();
        while let Some(row) = rows.next()? {
            let value = row.get_ref(1)?.as_str().unwrap_or_default();
            match row.get_ref(0)?.as_str().unwrap_or_default() {
                "format" => meta.format = value.to_owned(),
                "rows" => meta.rows = value.parse().unwrap_or_default(),
                "users" => meta.users = value.to_owned(),
                "checksum" => meta.checksum = value.to_owned(),
                "built_unix_ms" => meta.built_unix_ms = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        Ok(meta.format.starts_with("tidegate-profiles-").then_some(meta))
    }
}

/// A checksum over rows in their order; it guards against accidents, not against forgery.
pub(crate) struct Checksum(SipHasher13);

impl Checksum {
    pub(crate) fn new() -> Self {
        Self(SipHasher13::new_with_keys(0, 0))
    }

    pub(crate) fn add(&mut self, key: &[u8], data: &[u8]) {
        for part in [key, data] {
            self.0.write(&(part.len() as u64).to_le_bytes());
            self.0.write(part);
        }
    }

    pub(crate) fn hex(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}
