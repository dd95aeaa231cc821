//! Names what can go wrong with a journal, by what the caller does about it.
//!
//! `JournalError` is for opening and reading a journal, and for a consumer's registering and
//! committing. `Unrecorded` says why one line is not in the journal, or not known to be.
//! Plain data; a new variant needs another thing to do. Outside only `Locked` is told from the
//! rest, for a hint (`tidegate/src/serve.rs`). Of `Unrecorded` only yes or no gets out
//! (`tidegate/src/ports.rs`). Any other error of reading makes a pipeline start again, without end.
//! Refuses: to print its own source; a chain does that (`stdx::Chain`).

use std::io;
use std::path::PathBuf;

/// An operation on a journal that did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another process writes this journal; stop it or name another directory.
    #[error("open journal `{}`: another process writes it", dir.display())]
    Locked {
        /// The directory of the journal.
        dir: PathBuf,
    },
    /// The disk refused; try again when its cause is gone.
    #[error("{operation} `{}`", path.display())]
    Disk {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The name cannot stand in a file name.
    #[error("register consumer `{name}`: use 1 to 64 letters, digits, `-` and `_`")]
    ConsumerName {
        /// The name as given.
        name: String,
    },
}

impl JournalError {
    pub(crate) fn disk(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk { operation, path, source }
    }

    /// Whether the file is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Disk { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Why a line is not in the journal, or not known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unrecorded {
    /// The journal is full and drops lines (`on_full = "serve"`); answer without it.
    #[error("the line was dropped: the journal is full")]
    Dropped,
    /// The journal is full and refuses lines (`on_full = "refuse"`); answer 503.
    #[error("the line was refused: the journal is full")]
    Refused,
    /// Writing or syncing went wrong after the line was taken: it may or may not survive.
    #[error("the line is not known to be on disk")]
    NotSynced,
    /// The journal is closed.
    #[error("the journal is closed")]
    Closed,
}
