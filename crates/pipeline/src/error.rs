//! Names what can go wrong between a log file and a database: in a sink, a line, a source, or a
//! run.
//!
//! Plain data, each enum by what the caller does. Of `SinkError`, `delivery` tries all again but
//! `Fenced`; what each promises of the batch is in `sink`. Texts of `LineError` are the `reason` in
//! quarantine files. `SourceError` and `RunError` end a run, and `supervise` starts the next. But a
//! file that cannot be opened, or cannot be read by a scan, is only put off
//! (`source/files/catalogue.rs`, `source/files/scan.rs`).
//! A place in a text is without secrets, because errors are shown on the status page; drivers see
//! to that. Never here: mistakes in a configuration (`plan`).

use std::io;
use std::path::{Path, PathBuf};

/// A sink did not take a batch.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Another writer has moved the checkpoint.
    #[error(
        "the checkpoint of `{source_name}` is at batch {stored}, not {expected}: another process \
         of this `node` delivers it too, or somebody has changed it"
    )]
    Fenced {
        /// The source.
        source_name: String,
        /// The sequence that the sink holds.
        stored: u64,
        /// The sequence that was expected.
        expected: u64,
    },
    /// The engine cannot be reached, or the answer was lost.
    #[error("{engine} `{place}`: {reason}")]
    Unreachable {
        /// The kind of engine.
        engine: &'static str,
        /// Where it is, without secrets.
        place: String,
        /// What the driver says.
        reason: String,
    },
    /// The engine understood, and does not want it.
    #[error("{engine} `{place}` refuses: {reason}")]
    Refused {
        /// The kind of engine.
        engine: &'static str,
        /// Where it is, without secrets.
        place: String,
        /// What the engine says.
        reason: String,
    },
}

/// A line is no event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is not as its format wants it.
    #[error("{}: {}", .0, .0.reason)]
    Decode(exchange::DecodeError),
    /// It lacks a field that the configuration requires.
    #[error("field `{name}` {problem}")]
    Field {
        /// The field.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Its file ended without a line feed, and nobody writes to it any more.
    #[error("the file ends within the line")]
    Torn,
    /// It is longer than lines may be; its beginning is kept.
    #[error("the line has {length} bytes, which is too long")]
    Oversized {
        /// Its length with its line feed.
        length: u64,
    },
}

/// A source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file system refuses.
    #[error("{operation} `{path}`: {reason}")]
    Disk {
        /// What was tried.
        operation: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The journal refuses.
    #[error(transparent)]
    Journal(#[from] journal::JournalError),
    /// A log is not what it was when it was read, and the source is strict.
    #[error(
        "log `{path}` was read up to byte {offset}, and was emptied or changed since; \
         hint: restore it, or let `strict = false` report what is lost and go on"
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// How far it was read.
        offset: u64,
    },
    /// The position in the sink is not one of this source.
    #[error("source `{source_name}`: the position in the sink makes no sense: {reason}")]
    Position {
        /// The source.
        source_name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl SourceError {
    /// Wraps an error of the file system.
    pub(crate) fn disk(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |reason| Self::Disk { operation, path, reason }
    }
}

/// A pipeline ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The sink does not take what is delivered.
    #[error(transparent)]
    Sink(#[from] SinkError),
}
