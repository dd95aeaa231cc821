//! Merges rows into a SQLite table of sketches: the stored one is read, merged and written back.
//!
//! All other columns are merged by the statement. The caller's transaction holds the write lock, so
//! nobody writes between. Stored bytes that are no sketch fail the batch.

use metrics::merge_sketches;
use pipeline::{CellValue, ColumnRole, TableRows};
use rusqlite::Transaction;

use super::dialect::{BoundCell, DIALECT, insert};
use super::error::SqliteError;

/// Merges rows into a table of sketches.
pub(super) fn merge(transaction: &Transaction<'_>, rows: &TableRows) -> Result<(), SqliteError> {
    let table = &rows.table;
    let stored = DIALECT.stored_sketches(table, |_| "?".to_owned());
    let mut stored = transaction.prepare_cached(&stored)?;
    let mut write = transaction.prepare_cached(&insert(table))?;
    let broken = |reason| SqliteError::Sketch { table: table.name.clone(), reason };
    for index in rows.by_key() {
        for (at, key) in rows.row(index).take(table.keys()).enumerate() {
            stored.raw_bind_parameter(at + 1, BoundCell(key, ColumnRole::Key))?;
        }
        let mut found = stored.raw_query();
        let found = found.next()?;
        let mut sketch = 0;
        for (at, (cell, column)) in rows.row(index).zip(&table.columns).enumerate() {
            let mut there: Option<&[u8]> = None;
            if column.role == ColumnRole::Sketch {
                there = found.and_then(|row| row.get_ref(sketch).ok()?.as_blob_or_null().ok()?);
                sketch += 1;
            }
            match (cell, there) {
                (CellValue::Blob(new), Some(there)) => {
                    let merged = merge_sketches(there, new).map_err(broken)?;
                    write.raw_bind_parameter(
                        at + 1,
                        BoundCell(CellValue::Blob(&merged), column.role),
                    )?;
                }
                (cell, _) => write.raw_bind_parameter(at + 1, BoundCell(cell, column.role))?,
            }
        }
        write.raw_execute()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
