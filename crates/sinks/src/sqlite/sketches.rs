//! Merges rows into a SQLite table of sketches: the stored one is read, merged and written back
//! with its numbers.
//!
//! All other columns are merged by the statement. The caller's transaction holds the write lock, so
//! nobody writes between. Stored bytes that are no sketch fail the batch.

use std::borrow::Cow;

use metrics::merge_sketches;
use pipeline::{CellValue, ColumnRole, TableRows};
use rusqlite::Transaction;

use super::dialect::{BoundCell, DIALECT, insert};
use super::error::SqliteError;
use crate::readable::Readable;

/// Merges rows into a table of sketches.
pub(super) fn merge(transaction: &Transaction<'_>, rows: &TableRows) -> Result<(), SqliteError> {
    let table = &rows.table;
    let stored = DIALECT.stored_sketches(table, |_| "?".to_owned());
    let mut stored = transaction.prepare_cached(&stored)?;
    let readable = Readable::of(table);
    let mut write = transaction.prepare_cached(&insert(&readable.widened(table)))?;
    let mut numbers = Vec::with_capacity(readable.count());
    let broken = |reason| SqliteError::Sketch { table: table.name.clone(), reason };
    for index in rows.by_key() {
        for (at, key) in rows.row(index).take(table.keys()).enumerate() {
            stored.raw_bind_parameter(at + 1, BoundCell(key, ColumnRole::Key))?;
        }
        let mut found = stored.raw_query();
        let found = found.next()?;
        let mut sketch = 0;
        numbers.clear();
        for (at, (cell, column)) in rows.row(index).zip(&table.columns).enumerate() {
            if column.role != ColumnRole::Sketch {
                write.raw_bind_parameter(at + 1, BoundCell(cell, column.role))?;
                continue;
            }
            let there = found.and_then(|row| row.get_ref(sketch).ok()?.as_blob_or_null().ok()?);
            let merged = match (cell, there) {
                (CellValue::Blob(new), Some(there)) => {
                    Some(Cow::Owned(merge_sketches(there, new).map_err(broken)?))
                }
                (CellValue::Blob(new), None) => Some(Cow::Borrowed(new)),
                _ => None,
            };
            readable.push(sketch, merged.as_deref(), &mut numbers).map_err(broken)?;
            let merged = merged.as_deref().map_or(CellValue::Absent, CellValue::Blob);
            write.raw_bind_parameter(at + 1, BoundCell(merged, column.role))?;
            sketch += 1;
        }
        for (at, number) in numbers.iter().enumerate() {
            let role = ColumnRole::Sketch;
            write.raw_bind_parameter(table.columns.len() + at + 1, BoundCell(*number, role))?;
        }
        write.raw_execute()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
