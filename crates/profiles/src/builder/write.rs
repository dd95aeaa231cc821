//! Writes profiles as an SQLite file, one after the other.
//!
//! The Varnish module reads the file too, and may be linked with an old SQLite. So the file uses
//! nothing newer than SQLite 3.13: two plain tables, keys as text.
//!
//! ```sql
//! CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
//! CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text);
//! ```
//! The table keeps its row numbers: without them the long rows would make the tree of keys deep.
//! The caller hands keys over in their order, which fills both trees from left to right.
//! Invariant: the checksum in `meta` is over the rows in the order of their numbers, as `checks.rs`
//! computes it again. `meta.rs` reads the keys of `meta` by name. What older programs would misread
//! needs another `FORMAT` there. `schema.rs` finds the table by its names, which
//! docs/operating/profiles.md promises. `builder/unfinished.rs` makes the file durable.

use std::path::Path;

use rusqlite::Connection;

use crate::key_text::TextKey;
use crate::meta::{Checksum, FORMAT, Meta};

const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -65536;
    CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
    CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text);
    BEGIN;";

/// A file that profiles are written to.
pub(super) struct FileWriter {
    connection: Connection,
    checksum: Checksum,
    rows: u64,
}

impl FileWriter {
    /// Begins in the empty file at `path`.
    pub(super) fn create(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(SETTINGS)?;
        Ok(Self { connection, checksum: Checksum::new(), rows: 0 })
    }

    /// Adds a profile, whose key is above all before it.
    pub(super) fn add(&mut self, key: &[u8], data: &str) -> rusqlite::Result<()> {
        let sql = "INSERT INTO user_profiles VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute((TextKey(key), data))?;
        self.checksum.add(key, data.as_bytes());
        self.rows += 1;
        Ok(())
    }

    /// Ends the file, whose users are keyed as `users` says.
    pub(super) fn finish(self, users: String, built_unix_ms: u64) -> rusqlite::Result<Meta> {
        let checksum = self.checksum.hex();
        let meta =
            Meta { format: FORMAT.to_owned(), rows: self.rows, users, checksum, built_unix_ms };
        let rows = [
            ("format", meta.format.clone()),
            ("rows", meta.rows.to_string()),
            ("users", meta.users.clone()),
            ("checksum", meta.checksum.clone()),
            ("built_unix_ms", meta.built_unix_ms.to_string()),
        ];
        for row in rows {
            self.connection.execute("INSERT INTO meta VALUES (?1, ?2)", row)?;
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.flush_prepared_statement_cache();
        self.connection.close().map_err(|(_, error)| error)?;
        Ok(meta)
    }
}
