//! Names what keeps a server from starting: an address or path that cannot be bound, or no thread.
//!
//! The source says what the system said. `connections` is the poll that all streams share.
//! Never here: errors of a configuration (`config.rs`, `LegacyError`), and what goes wrong later. A
//! backend without a thread or a spool is only logged (`backend/worker.rs`); a snapshot that is
//! refused is an alarm (`snapshot.rs`).

use std::io;

/// What keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum StatsdError {
    /// An address or a path is taken, or not ours.
    #[error("listen on `{what}`")]
    Bind {
        /// The address or path.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no threads left.
    #[error("start the thread `{name}`")]
    Thread {
        /// What it is for.
        name: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl StatsdError {
    /// An error of binding `what`.
    pub fn bind(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Bind { what, source }
    }
}
