//! Writes profiles as an SQLite file.
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
use std::time::Duration;

use rusqlite::Connection;

use super::catalogue::Catalogue;
use super::data::write_data;
use super::history::History;
use crate::key_text::TextKey;
use crate::meta::{Checksum, FORMAT};

const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -65536;
    CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
    CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text);";

/// What goes into a file.
pub(super) struct Contents<'c> {
    /// Key and compact history of each profile, in the order of the keys.
    pub profiles: &'c [(Box<[u8]>, History)],
    /// Items and categories of the histories.
    pub catalogue: &'c Catalogue,
    /// Time in which a read loses half its weight.
    pub half_life: Duration,
    /// How users are keyed, as [`crate::UserKey::mark`] says.
    pub users: String,
    /// When the window ends, in milliseconds since the Unix epoch.
    pub built_unix_ms: u64,
}

/// Writes `contents` into the empty file at `path`.
///
/// # Errors
/// When SQLite fails.
pub(super) fn write(contents: &Contents<'_>, path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch(SETTINGS)?;
    let transaction = connection.transaction()?;
    let mut checksum = Checksum::new();
    let mut data = String::new();
    let mut insert = transaction.prepare("INSERT INTO user_profiles VALUES (?1, ?2)")?;
    for (key, history) in contents.profiles {
        data.clear();
        write_data(contents.catalogue, contents.half_life, history, &mut data);
        checksum.add(key, data.as_bytes());
        insert.execute((TextKey(key), &data))?;
    }
    drop(insert);
    let meta = [
        ("format", FORMAT.to_owned()),
        ("rows", contents.profiles.len().to_string()),
        ("users", contents.users.clone()),
        ("checksum", checksum.hex()),
        ("built_unix_ms", contents.built_unix_ms.to_string()),
    ];
    for row in meta {
        transaction.execute("INSERT INTO meta VALUES (?1, ?2)", row)?;
    }
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)
}
