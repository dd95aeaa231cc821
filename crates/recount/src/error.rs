//! Defines what keeps lines from being counted again, and a sink from being compared.
//!
//! Plain data. A line that cannot be read, or a row that differs, is no error: both are counted.

use std::io;
use std::num::ParseIntError;
use std::path::PathBuf;

/// A log cannot be counted again, or a sink cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum RecountError {
    /// The checkpoint of a journal is no offset: the sink is damaged.
    #[error("read the checkpoint")]
    Checkpoint(#[source] ParseIntError),
    /// The files of a source cannot be found or recognised.
    #[error(transparent)]
    Source(#[from] pipeline::SourceError),
    /// A file or a directory cannot be read: the path or the disk needs care.
    #[error("read `{path}`", path = path.display())]
    Read {
        /// The file or the directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The log was rotated while it was read: run it again.
    #[error("its files changed names while they were read")]
    Rotated,
    /// The sink does not give its rows.
    #[error(transparent)]
    Sink(#[from] sinks::ReadBackError),
}
