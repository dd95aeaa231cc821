//! Hands out the rows of any query one by one, numbers as their texts.
//!
//! Invariant: no text changes anything, because `sqlite/read_only.rs` opens the database. Never
//! here: rows kept in memory, which `sqlite/query.rs` returns. `rows.rs` of the crate calls it;
//! `read_back.rs` parses the texts.

use std::path::Path;

use pipeline::SinkError;
use rusqlite::types::ValueRef;

use super::read_only;
use crate::take_row::TakeRow;

/// Runs `query` and hands each row over; the functions that merge sketches are known.
///
/// # Errors
/// When the file cannot be read or SQLite refuses.
pub(crate) fn rows(path: &Path, query: &str, take: &mut TakeRow<'_>) -> Result<(), SinkError> {
    read(path, query, take).map_err(|error| SinkError::Refused {
        engine: "sqlite",
        place: path.display().to_string(),
        reason: error.to_string(),
    })
}

fn read(path: &Path, query: &str, take: &mut TakeRow<'_>) -> rusqlite::Result<()> {
    let connection = read_only::open(path)?;
    let mut statement = connection.prepare(query)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut numbers = vec![String::new(); columns.len()];
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = match row.get_ref(at)? {
                ValueRef::Integer(value) => value.to_string(),
                ValueRef::Real(value) => value.to_string(),
                _ => String::new(),
            };
        }
        let mut cells = Vec::with_capacity(columns.len());
        for (at, number) in numbers.iter().enumerate() {
            cells.push(match row.get_ref(at)? {
                ValueRef::Null => None,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
                ValueRef::Integer(_) | ValueRef::Real(_) => Some(number.as_bytes()),
            });
        }
        if take(&columns, &cells).is_break() {
            break;
        }
    }
    Ok(())
}
