//! Why a piece of work in SQLite was not done.

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
