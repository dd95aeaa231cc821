//! What the writer of a log and the killer of its readers tell each other.
//!
//! Invariant: `delivered` never passes `written`, so the writer deletes no file that is not
//! delivered. Each number is stored by one thread only.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// How far writing and delivering are.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Ids whose line is whole in the log, or about to be.
    pub written: AtomicU64,
    /// All ids below were seen in the sink.
    pub delivered: AtomicU64,
    /// The writer is to end.
    pub ends: AtomicBool,
}
