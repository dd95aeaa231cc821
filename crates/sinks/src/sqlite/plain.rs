//! Inserts rows of a table without a key into SQLite, up to 32 in one statement.
//!
//! Half of what SQLite does for one row is to start and end a statement. Such a table has no
//! columns of means, so every column is bound. The caller has the transaction.

use pipeline::{ColumnRole, TableRows};
use rusqlite::{Statement, Transaction};

use super::dialect::{BoundCell, insert};
use super::error::SqliteError;

/// Rows in one statement; more gain nothing.
const ROWS: usize = 32;
/// Parameters that a statement may have; SQLite's own bound is 32,766.
const PARAMETERS_MAX: usize = 4_000;

/// Inserts rows into a table without a key.
pub(super) fn insert_all(
    transaction: &Transaction<'_>,
    rows: &TableRows,
) -> Result<(), SqliteError> {
    let width = rows.table.columns.len();
    let at_once = (PARAMETERS_MAX / width).clamp(1, ROWS);
    let one = insert(&rows.table);
    let values = format!(", ({})", vec!["?"; width].join(", "));
    let many = format!("{one}{}", values.repeat(at_once - 1));
    let whole = rows.len() - rows.len() % at_once;
    let mut statement = transaction.prepare_cached(&many)?;
    for start in (0..whole).step_by(at_once) {
        insert_rows(&mut statement, rows, start..start + at_once)?;
    }
    let mut statement = transaction.prepare_cached(&one)?;
    for start in whole..rows.len() {
        insert_rows(&mut statement, rows, start..start + 1)?;
    }
    Ok(())
}

fn insert_rows(
    statement: &mut Statement<'_>,
    rows: &TableRows,
    wanted: std::ops::Range<usize>,
) -> Result<(), SqliteError> {
    for (at, cell) in wanted.flat_map(|row| rows.row(row)).enumerate() {
        statement.raw_bind_parameter(at + 1, BoundCell(cell, ColumnRole::Plain))?;
    }
    statement.raw_execute()?;
    Ok(())
}
