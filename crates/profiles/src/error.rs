//! Lists why a profile file could not be read, was refused, or could not be built, by who must act.
//!
//! `Shrunk` is matched on by the binary, `Query` by `scheduler.rs`, `State` by `rebuild.rs`; the
//! others are printed. What is wrong with one user's data is `ProfileError` in `profile.rs`.
//! Invariant: a variant names the file, directory or query it is about, and never prints its own
//! source.

use std::path::{Path, PathBuf};

/// Why a profile file could not be read, was refused, or could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ProfilesError {
    /// The system refuses to read or write: the path or its permissions need care.
    #[error("open `{path}`", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// SQLite fails on the file: it is no database, or a broken one, and must be built again.
    #[error("query `{path}`", path = path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The file is readable, but not fit to be served: whoever builds it must mend it.
    #[error("refuse `{path}`: {reason}", path = path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong, with a hint.
        reason: String,
    },
    /// The file has lost too many rows: whoever builds it must say that they are meant to go.
    #[error(
        "refuse `{path}`: {rows} rows after {last}; \
         raise `shrink_max` = {percent}% if that many are meant to go",
        path = path.display(),
        percent = shrink_max * 100.0
    )]
    Shrunk {
        /// The file.
        path: PathBuf,
        /// Its rows.
        rows: u64,
        /// The rows of the last good one.
        last: u64,
        /// The share of these that may be lost.
        shrink_max: f64,
    },
    /// The journal cannot be read: its directory or the disk needs care.
    #[error("read the journal `{dir}`", dir = dir.display())]
    Journal {
        /// The directory of the journal.
        dir: PathBuf,
        /// What the journal says.
        source: journal::JournalError,
    },
    /// The build met a defect of ours, which the log has.
    #[error("a defect ended the build; the log has it")]
    Panicked,
    /// The query of the configuration gave no rows, or not all.
    #[error("run the `query` of [profiles]")]
    Query {
        /// What the engine says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The rows of the query are no reads.
    #[error("read a row that the `query` of [profiles] gave: {reason}")]
    Row {
        /// What is wrong, with a hint.
        reason: String,
    },
    /// The state beside the file fails, or does not go on: a whole build makes another.
    #[error("read the state `{dir}`", dir = dir.display())]
    State {
        /// The directory of the state.
        dir: PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
    /// Another build of the same file is under way: wait for it.
    #[error("build `{path}`: another build of it is under way", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl ProfilesError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn state(dir: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::State { dir: dir.to_owned(), source }
    }

    pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self + '_ {
        move |source| Self::Sqlite { path: path.to_owned(), source }
    }

    pub(crate) fn unfit(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.to_owned(), reason: reason.into() }
    }
}
