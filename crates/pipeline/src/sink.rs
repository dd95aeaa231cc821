//! The one thing a sink must be able to do: commit rows and a checkpoint together, or neither.

use std::sync::Arc;

use crate::batch::{Batch, Checkpoint, Table};
use crate::error::SinkError;

/// An engine that rows are delivered to.
///
/// Calls may block; they come from a thread that does nothing else.
pub trait Sink: Send {
    /// Creates what is missing of the tables, and of the place where checkpoints live.
    ///
    /// # Errors
    /// `Unreachable`, or `Refused` when a table exists with other columns.
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError>;

    /// Takes over the delivery of `source` by `node`: what an earlier process left unfinished is
    /// finished or undone, and where the engine can fence that process off, it is. Called before
    /// [`Sink::checkpoints`] by whoever is to deliver from what that returns, and by nobody else.
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

    /// Commits a batch with its checkpoint at once, if the checkpoint before it is the one held.
    ///
    /// # Errors
    /// `Fenced` when another checkpoint is held: nothing was committed. `Refused` when the engine
    /// does not take the rows: nothing was committed. `Unreachable` when it is not known whether
    /// it was committed: the caller reads the checkpoint again.
    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError>;
}
