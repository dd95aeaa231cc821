//! Defines what a sink must be able to do: prepare its tables, take a source over, tell
//! checkpoints, and commit a batch.
//!
//! The contract: [`Sink::deliver`] commits rows and checkpoint together, or neither, and only when
//! the sink holds the checkpoint before. `Fenced` and `Refused` promise that nothing was committed;
//! `Unreachable` promises nothing.
//! A trait; only `claim` has a default, which does nothing. Callers are `delivery`, and in
//! `tidegate` `events/replay.rs` and `events/copy.rs`. Of these only the first claims a source.
//! `events/replay.rs` also prepares no table at all, for the place of checkpoints alone. The
//! drivers are in `sinks`. ClickHouse and MongoDB finish an interrupted batch at the next `claim`.
//! How each keeps the contract is in docs/operating/sinks.md, what a new one needs is in
//! CONTRIBUTING.md.
//! Never here: trying again (`delivery`).

use std::sync::Arc;

use crate::batch::{Batch, Checkpoint, Table};
use crate::error::SinkError;

/// An engine that rows are delivered to.
///
/// Calls may block. They come one at a time, from threads that only this engine's sinks use. They
/// need not come from the same one.
pub trait Sink: Send {
    /// Creates what is missing of the tables, and of the place where checkpoints live.
    ///
    /// # Errors
    /// `Unreachable`, or `Refused` when a table exists with other columns.
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError>;

    /// Takes over the delivery of `source` by `node`. What an earlier process left unfinished is
    /// finished or undone; where the engine can fence that process off, it is. The process that
    /// delivers calls it before [`Sink::checkpoints`], and no other process does.
    ///
    /// Engines that commit at once have nothing to do here.
    ///
    /// # Errors
    /// `Unreachable`.
    fn claim(&mut self, node: &str, source: &str) -> Result<(), SinkError> {
        let _ = (node, source);
        Ok(())
    }

    /// Returns the checkpoints that every node has committed for `source`.
    ///
    /// # Errors
    /// `Unreachable`.
    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError>;

    /// Commits a batch with its checkpoint at once, if the sink holds the checkpoint before it.
    ///
    /// # Errors
    /// `Fenced` when the sink holds another checkpoint: nothing was committed. `Refused` when the
    /// engine does not take the rows: nothing was committed. `Unreachable` when it is not known
    /// whether it was committed: the caller reads the checkpoint again.
    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError>;
}
