//! Opens a database for texts that somebody else has written: queries of operators and profiles.
//!
//! Invariant: such a text changes no file and makes none. The database is opened for reading only,
//! and no other can be attached, which `VACUUM INTO` would do. Texts may merge sketches
//! by `functions`.

use std::path::Path;

use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::dialect::BUSY_TIMEOUT;
use super::functions;

/// Opens the database `path` for any text.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    functions::register(&connection)?;
    Ok(connection)
}

/// Opens the database `path` for texts of our own.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}
