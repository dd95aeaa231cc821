//! Tells why a piece of work in SQLite was not done.
//!
//! Plain data; `sqlite.rs` turns it into the pipeline's error. Only after `Engine` is the
//! connection closed.

use pipeline::SinkError;

/// Why a piece of work was not done.
pub(super) enum SqliteError {
    Fenced(SinkError),
    Sketch { table: String, reason: metrics::SketchError },
    Refused(String),
    Engine(rusqlite::Error),
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}
