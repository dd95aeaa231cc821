//! Opens read-only SQLite connections to one file, and lends each thread one of them.
//!
//! A thread has a preferred connection, takes another when that is busy, and waits when all are.
//! A file that is replaced by rename lives on under its open handles. So all connections are opened
//! at once, and `file.rs` checks that the path led to one file meanwhile.
//! They are opened `immutable`: no locks, no look at a journal, no system call per look-up but the
//! page read. SQLite then cannot notice that the file changes. `ProfileFile` does, by the file's
//! identity.
//! Invariant: no connection can write. Refuses: memory mapping, since a file truncated under a
//! mapping kills the process by SIGBUS.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Page cache of one connection: the inner pages of an index over millions of keys.
const CACHE_KIB: u32 = 4_096;

/// Statements kept prepared per connection: look up, fetch.
const STATEMENTS: usize = 4;

#[derive(Debug)]
pub(crate) struct ReadOnlyConnections(Box<[Mutex<Connection>]>);

thread_local! {
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

impl ReadOnlyConnections {
    /// Opens `count` connections to the file at `path`.
    pub(crate) fn open(path: &Path, count: usize) -> rusqlite::Result<Self> {
        let opened = (0..count.max(1)).map(|_| open(path).map(Mutex::new));
        Ok(Self(opened.collect::<Result<_, _>>()?))
    }

    /// Runs `work` on the connection of this thread, or on another when that is taken. That happens
    /// only with more threads than connections.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&Connection) -> R) -> R {
        let preferred = thread_number() % self.0.len();
        let (before, from) = self.0.split_at(preferred);
        let free = from.iter().chain(before).find_map(Mutex::try_lock);
        work(&free.unwrap_or_else(|| self.0[preferred].lock()))
    }
}

/// Opens one connection to the file at `path`.
pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path), flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    Ok(connection)
}

/// Every byte of the path that could mean something in a URI is escaped.
fn uri(path: &Path) -> String {
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { "file:".to_owned() };
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => write!(uri, "%{other:02x}").expect("writing to a string succeeds"),
        }
    }
    uri + "?mode=ro&immutable=1"
}

fn thread_number() -> usize {
    THREAD.with(|cell| {
        cell.get().unwrap_or_else(|| {
            let number = THREADS.fetch_add(1, Ordering::Relaxed);
            cell.set(Some(number));
            number
        })
    })
}

#[cfg(test)]
mod tests;
