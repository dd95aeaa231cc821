//! Copies what a SQL sink holds into a SQLite file of one moment, which goes with its value.
//!
//! A SQLite sink is copied whole, by `VACUUM INTO`, whatever tables and times are wanted. Of other
//! engines the wanted tables are copied, by rows. `events verify` compares the copy with the log.
//! `events query` asks it where the sink is not SQLite, since only SQLite merges sketches here.
//! Invariant: rows and checkpoints are of the same moment, which `sinks::read_back` keeps. The sink
//! is only read. Memory is 20,000 rows; the disk takes the whole copy.
//! Nothing delivered is an error, not an empty copy, unless a SQLite file is there without
//! checkpoints.
//! A SQLite sink is known by `sqlite:`, as `sinks::open` knows it. The copy is of the form that
//! `sinks` gives a SQLite sink; nothing outlives the command, also where a signal ends it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use pipeline::{Batch, Checkpoint, Sink, SinkPlan, Table, TableRows};
use sinks::{ReadBack, ReadBackQuery, SqliteSink, read_back};

use super::scratch::ScratchDir;
use crate::config::Plan;

/// Rows that are copied at once.
const ROWS_AT_ONCE: usize = 20_000;
/// The name under which the copy notes how far it got.
const CHECKPOINT_NAME: &str = "copy";

/// A copy, which goes with its value.
pub(super) struct SinkCopy {
    /// The SQLite file.
    pub file: PathBuf,
    /// How far sources were delivered at that moment.
    pub checkpoints: Vec<Checkpoint>,
    _dir: ScratchDir,
}

impl SinkCopy {
    /// Copies `tables` of a sink. Of rows with a time it copies those of `times`, if the engine can
    /// choose.
    ///
    /// # Errors
    /// When the sink knows no SQL, is not there, or was not delivered to.
    pub(super) fn of(
        plan: &Plan,
        sink: &SinkPlan,
        tables: &[Arc<Table>],
        times: (Option<u64>, Option<u64>),
    ) -> Result<Self> {
        let dir = ScratchDir::make("copy")?;
        let file = dir.0.join("copy.db");
        let mut copy = Self { file, checkpoints: Vec::new(), _dir: dir };
        match sink_file(plan, sink) {
            Some(database) => copy.whole(&delivered(database)?)?,
            None if sinks::runs_queries(&sink.url) => {
                copy.rows(plan, sink, tables, times)?;
            }
            None => bail!("sink `{}` cannot be read back: its engine knows no SQL", sink.name),
        }
        Ok(copy)
    }

    fn whole(&mut self, database: &Path) -> Result<()> {
        sinks::copy(database, &self.file).context("copy the sink")?;
        let wanted = ReadBackQuery { tables: &[], since: None, until: None };
        read_back(&self.url(), Path::new(""), wanted, &mut |got| {
            if let ReadBack::Checkpoint(checkpoint) = got {
                self.checkpoints.push(checkpoint);
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn rows(
        &mut self,
        plan: &Plan,
        sink: &SinkPlan,
        tables: &[Arc<Table>],
        (since, until): (Option<u64>, Option<u64>),
    ) -> Result<()> {
        let mut target = SqliteSink::new(&self.file);
        target.prepare(tables)?;
        let mut batch =
            tables.iter().map(|table| TableRows::new(Arc::clone(table))).collect::<Vec<_>>();
        let (mut count, mut sequence) = (0, 0);
        let mut failed = Ok(());
        read_back(&sink.url, &plan.root, ReadBackQuery { tables, since, until }, &mut |got| {
            match got {
                ReadBack::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
                ReadBack::Row(table, cells) => {
                    cells.iter().for_each(|cell| batch[table].push(cell.cell()));
                    count += 1;
                }
            }
            if count >= ROWS_AT_ONCE {
                count = 0;
                failed = put(&mut target, &mut batch, &mut sequence);
            }
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .with_context(|| format!("read sink `{}`", sink.name))?;
        failed?;
        ensure!(!self.checkpoints.is_empty(), "nothing was delivered to sink `{}`", sink.name);
        put(&mut target, &mut batch, &mut sequence)
    }

    /// The copy as a sink's address.
    pub(super) fn url(&self) -> String {
        format!("sqlite:{}", self.file.display())
    }
}

fn put(target: &mut SqliteSink, batch: &mut [TableRows], sequence: &mut u64) -> Result<()> {
    *sequence += 1;
    let (node, source, position) =
        (CHECKPOINT_NAME.to_owned(), CHECKPOINT_NAME.to_owned(), String::new());
    let checkpoint = Checkpoint { node, source, sequence: *sequence, position };
    let rows = batch.iter_mut().map(|rows| {
        let empty = TableRows::new(Arc::clone(&rows.table));
        std::mem::replace(rows, empty)
    });
    target.deliver(&Batch { checkpoint, rows: rows.collect() }).context("copy the sink")
}

/// The file of a SQLite sink.
pub(super) fn sink_file(plan: &Plan, sink: &SinkPlan) -> Option<PathBuf> {
    sink.url.strip_prefix("sqlite:").map(|file| plan.root.join(file))
}

/// A database, if it is there.
///
/// # Errors
/// When it is not.
pub(super) fn delivered(file: PathBuf) -> Result<PathBuf> {
    let shown = file.display();
    let exists = file.try_exists().with_context(|| format!("look for `{shown}`"))?;
    ensure!(exists, "there is no `{shown}` yet: nothing was delivered");
    Ok(file)
}
