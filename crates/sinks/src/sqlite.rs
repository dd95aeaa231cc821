//! Delivers into SQLite: the database is a file beside us, and a batch is one transaction.
//!
//! Invariant: rows and checkpoint are committed together, and are on disk when `deliver` returns
//! (`synchronous = full`, write-ahead log). The write lock is taken before the checkpoint is
//! compared. Another process may hold it for 5 s, then we are `Unreachable`. What is committed is
//! in the file that has the name: where that was replaced, the caller reads its checkpoint.
//! Rows with keys are written in the order of their keys, which was measured
//! (docs/decisions/events.md). Times are RFC 3339 text: in a key with a fraction only where there
//! is one, elsewhere always with six digits. Keys of whole seconds sort by time, as all other times
//! do. Files of users hold such keys: a key that is written otherwise gets a second row.
//! `sqlite/query.rs` cuts and compares times as text.
//! A connection keeps pages in memory, up to 2 MB. Where others write the same file, these are out
//! of date at the next batch, so they are given up after each one.
//! Also here: which columns and unique indexes a table that exists has. Elsewhere: queries
//! (`sqlite/query.rs`, `sqlite/rows.rs`), statements (`sql.rs`), how values are bound
//! (`sqlite/dialect.rs`).

mod dialect;
mod error;
mod functions;
mod plain;
mod query;
mod read_only;
mod rows;
mod sketches;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pipeline::{Batch, Checkpoint, ColumnRole, Sink, SinkError, Table, TableRows};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use self::dialect::{BUSY_TIMEOUT, BoundCell, DIALECT, insert};
use self::error::SqliteError;
use crate::existing::{ExistingColumn, ExistingTable};
use crate::readable;
use crate::sql::CHECKPOINTS;

pub use query::{Query, QueryAnswer, QueryError, ask, ask_sql, copy};
pub(crate) use rows::rows;

const ENGINE: &str = "sqlite";

/// Delivers into a SQLite file.
#[derive(Debug)]
pub struct SqliteSink {
    path: PathBuf,
    connection: Option<Connection>,
    /// Device and inode of the file that the connection has open.
    file: Option<(u64, u64)>,
    /// What SQLite counts commits of other connections by, as it was after the last batch.
    data_version: Option<i64>,
}

impl SqliteSink {
    /// A sink for the database `path`, which is created when it is first used.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), connection: None, file: None, data_version: None }
    }

    fn connected(&mut self) -> Result<&mut Connection, SinkError> {
        if self.connection.is_none() {
            self.connection = Some(self.connect().map_err(|error| self.failed(&error))?);
            self.file = self.file_there();
        }
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    /// Device and inode of the file that has the name now.
    fn file_there(&self) -> Option<(u64, u64)> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    /// Gives the connection up if another file has the name of its own, or none has.
    fn check_file(&mut self) -> Result<(), SinkError> {
        if self.connection.is_none() || self.file == self.file_there() {
            return Ok(());
        }
        self.connection = None;
        Err(SinkError::Unreachable {
            engine: ENGINE,
            place: self.path.display().to_string(),
            reason: "the file was replaced or removed while it was open".to_owned(),
        })
    }

    /// Gives up pages in memory that others have made out of date.
    fn release_stale_pages(&mut self) {
        let Some(connection) = &self.connection else { return };
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok();
        if std::mem::replace(&mut self.data_version, version) != version {
            // Where this fails, the pages only stay.
            let _ = connection.execute_batch("PRAGMA shrink_memory");
        }
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        if let Some(dir) = self.path.parent() {
            // Where this fails, opening says why.
            let _ = std::fs::create_dir_all(dir);
        }
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // A commit is durable when it returns: the log may be gone by then.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS {CHECKPOINTS} (node TEXT NOT NULL, source TEXT NOT NULL, \
             sequence INTEGER NOT NULL, position TEXT NOT NULL, PRIMARY KEY (node, source))"
        ))?;
        Ok(connection)
    }

    /// What an error means to the caller. A connection that failed is not used again.
    fn failed(&self, error: &rusqlite::Error) -> SinkError {
        let (engine, place) = (ENGINE, self.path.display().to_string());
        let reason = error.to_string();
        match error {
            rusqlite::Error::SqliteFailure(failure, _)
                if matches!(failure.extended_code & 0xff, 1 | 18 | 19 | 20 | 25 | 26) =>
            {
                // Error, too big, constraint, mismatch, range, not a database.
                SinkError::Refused { engine, place, reason }
            }
            _ => SinkError::Unreachable { engine, place, reason },
        }
    }

    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, SqliteError>,
    ) -> Result<T, SinkError> {
        match work(self.connected()?) {
            Ok(done) => Ok(done),
            Err(SqliteError::Fenced(error)) => Err(error),
            Err(SqliteError::Sketch { table, reason }) => Err(SinkError::Refused {
                engine: ENGINE,
                place: self.path.display().to_string(),
                reason: format!("table `{table}` holds a {reason}"),
            }),
            Err(SqliteError::Refused(reason)) => {
                let (engine, place) = (ENGINE, self.path.display().to_string());
                Err(SinkError::Refused { engine, place, reason })
            }
            Err(SqliteError::Engine(error)) => {
                self.connection = None;
                Err(self.failed(&error))
            }
        }
    }
}

impl Sink for SqliteSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        self.attempt(|connection| {
            // Immediate: nobody makes the same tables meanwhile.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for table in &readable::widened(tables) {
                let existing = describe(&transaction, &table.name)?;
                if existing.columns.is_empty() {
                    transaction.execute_batch(&DIALECT.create(table, |_| "TEXT".to_owned()))?;
                    continue;
                }
                let lacks = existing.lacks(table, &DIALECT, "TEXT");
                for column in lacks.map_err(SqliteError::Refused)? {
                    transaction.execute_batch(&DIALECT.add_column(table, column))?;
                }
            }
            Ok(transaction.commit()?)
        })
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.attempt(|connection| {
            let text = format!(
                "SELECT node, source, sequence, position FROM {CHECKPOINTS} WHERE source = ?"
            );
            let mut statement = connection.prepare_cached(&text)?;
            let rows = statement.query_map([source], |row| {
                Ok(Checkpoint {
                    node: row.get(0)?,
                    source: row.get(1)?,
                    sequence: row.get::<_, i64>(2)?.unsigned_abs(),
                    position: row.get(3)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.check_file()?;
        self.attempt(|connection| {
            // Immediate: the write lock is taken before the checkpoint is compared.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            move_checkpoint(&transaction, &batch.checkpoint)?;
            for rows in &batch.rows {
                merge(&transaction, rows)?;
            }
            Ok(transaction.commit()?)
        })?;
        self.release_stale_pages();
        self.check_file()
    }
}

fn move_checkpoint(transaction: &Transaction<'_>, new: &Checkpoint) -> Result<(), SqliteError> {
    let expected = new.sequence - 1;
    let stored = transaction
        .prepare_cached(&format!(
            "SELECT sequence FROM {CHECKPOINTS} WHERE node = ? AND source = ?"
        ))?
        .query_row(params![new.node, new.source], |row| row.get::<_, i64>(0))
        .optional()?
        .unwrap_or(0)
        .unsigned_abs();
    if stored != expected {
        let source_name = new.source.clone();
        return Err(SqliteError::Fenced(SinkError::Fenced { source_name, stored, expected }));
    }
    let text = format!(
        "INSERT INTO {CHECKPOINTS} (node, source, sequence, position) VALUES (?, ?, ?, ?) \
         ON CONFLICT (node, source) DO UPDATE SET sequence = excluded.sequence, \
         position = excluded.position"
    );
    let sequence = new.sequence as i64;
    transaction.prepare_cached(&text)?.execute(params![
        new.node,
        new.source,
        sequence,
        new.position
    ])?;
    Ok(())
}

fn merge(transaction: &Transaction<'_>, rows: &TableRows) -> Result<(), SqliteError> {
    if rows.table.has_sketches() {
        return sketches::merge(transaction, rows);
    }
    if rows.table.keys() == 0 {
        return plain::insert_all(transaction, rows);
    }
    let text = insert(&rows.table);
    let mut statement = transaction.prepare_cached(&text)?;
    // In the order of the index, whose pages are then gone through once.
    for index in rows.by_key() {
        let cells = rows.row(index).zip(&rows.table.columns);
        let stored = cells.filter(|(_, column)| !matches!(column.role, ColumnRole::Mean { .. }));
        for (at, (cell, column)) in stored.enumerate() {
            statement.raw_bind_parameter(at + 1, BoundCell(cell, column.role))?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

fn describe(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<ExistingTable> {
    let mut existing = ExistingTable::default();
    let text = "SELECT name, type, \"notnull\" AND dflt_value IS NULL AND pk = 0 AND hidden = 0, \
         pk FROM pragma_table_xinfo(?) ORDER BY pk";
    let mut primary = Vec::new();
    let mut statement = transaction.prepare(text)?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(3)? > 0 {
            primary.push(row.get(0)?);
        }
        existing.columns.push(ExistingColumn {
            name: row.get(0)?,
            kind: row.get(1)?,
            is_required: row.get(2)?,
            characters_max: None,
        });
    }
    existing.uniques.push(primary);
    let text = "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND NOT partial";
    let mut statement = transaction.prepare(text)?;
    let indexes = statement.query_map([name], |row| row.get(0))?;
    for index in indexes.collect::<rusqlite::Result<Vec<String>>>()? {
        let text = "SELECT COALESCE(name, '') FROM pragma_index_info(?)";
        let mut statement = transaction.prepare_cached(text)?;
        let columns = statement.query_map([index], |row| row.get(0))?;
        existing.uniques.push(columns.collect::<rusqlite::Result<_>>()?);
    }
    Ok(existing)
}

#[cfg(test)]
mod tests;
