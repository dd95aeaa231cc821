//! Tells people what one pipeline commits, and what it lost.
//!
//! That goes into the binlog, the book of losses, the log of the process and its counts.
//! Invariant: a batch is noted once, after its commit. Nothing here decides what is read or
//! delivered, so a note that cannot be kept changes nothing.
//! Never here: how far the sink is behind (`run`), and bounds of the files (`binlog`, `losses`).

use std::sync::Arc;
use std::time::Instant;

use crate::batch::{Batch, Checkpoint, TableRows};
use crate::binlog::{Binlog, Note};
use crate::losses::{LogLoss, LossNotes};
use crate::status::{LastCommit, Status};

/// The names of a pipeline, and where it is noted what it does.
pub(super) struct PipelineNotes {
    pub node: String,
    pub source_name: String,
    pub sink_name: String,
    pub status: Arc<Status>,
    pub binlog: Arc<Binlog>,
    pub losses: LossNotes,
}

impl PipelineNotes {
    /// Notes a batch that is in the sink.
    pub(super) fn committed(&self, batch: &Batch) {
        let time_us = stdx::unix_micros();
        let rows = batch.rows.iter().map(TableRows::len).sum::<usize>() as u64;
        Status::count(&self.status.batches, 1);
        Status::count(&self.status.rows, rows);
        let at = Some(Instant::now());
        *self.status.committed.lock() = LastCommit { at, sequence: batch.checkpoint.sequence };
        let Checkpoint { node, source, sequence, position } = batch.checkpoint.clone();
        let sink = self.sink_name.clone();
        self.binlog.note(&Note { time_us, node, source, sink, sequence, rows, position });
    }

    /// Takes note of the batch that the sink has at the start of a run. Where that is an older one
    /// than it had, an operator must know: rows may count twice.
    pub(super) fn resumed(&mut self, batch: u64) {
        self.losses.resumed = batch;
        let before = std::mem::replace(&mut self.status.committed.lock().sequence, batch);
        if batch < before {
            let what = format!(
                "the checkpoint went back from batch {before} to {batch}: it was deleted, or the \
                 database was restored. Lines are read again from there; rows that the database \
                 kept count twice"
            );
            self.lost(what, Some(0), batch);
        }
    }

    /// Has an operator know what was lost behind batch `batch`, and how many bytes of it were not
    /// read.
    pub(super) fn lost(&self, what: String, bytes: Option<u64>, batch: u64) {
        tracing::error!(source = self.source_name, sink = self.sink_name, bytes, "{what}");
        let is_noted = self.losses.note(LogLoss {
            id: String::new(),
            time_us: stdx::unix_micros(),
            node: self.node.clone(),
            source: self.source_name.clone(),
            sink: self.sink_name.clone(),
            what,
            bytes,
            batch: Some(batch),
        });
        self.status.lost.lock().add(bytes, is_noted);
    }
}
