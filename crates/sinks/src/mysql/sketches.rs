//! Merges the sketches that a MySQL table holds into the rows of a batch.
//!
//! `mysql.rs` writes them back, in the same transaction. Invariant: a lock of the server on node
//! and table lets one source of a node merge at a time. `mysql.rs` frees it after the transaction.
//! Who waits in vain is mostly `Unreachable`, since the batch's own time ends first; else it gets
//! `Retry`. The text of the lock's name stays the same: an older version may merge at the same
//! time.

use std::collections::HashMap;

use mysql_async::prelude::Queryable;
use mysql_async::{Params, Row, Value as Bound};
use pipeline::{ColumnRole, Table};

use super::bind;
use super::connection::Session;
use super::dialect::{DIALECT, ROWS_AT_ONCE};
use crate::attempt::AttemptError;
use crate::sanitise::{SanitisedRows, SqlValue};

/// Merges what the table holds into the rows.
pub(super) async fn merge(
    session: &mut Session,
    node: &str,
    table: &Table,
    rows: &mut SanitisedRows<'_>,
) -> Result<(), AttemptError> {
    lock(session, node, table).await?;
    let keys = table.keys();
    let bind = |row: &[SqlValue<'_>]| -> Vec<Bound> {
        row[..keys].iter().map(|value| bind::bound(value, &mut 0)).collect()
    };
    let bound: Vec<Vec<Bound>> = rows.rows().map(bind).collect();
    // Values have no order or hash of their own; as text they do.
    let places = bound.iter().enumerate().map(|(at, key)| (format!("{key:?}"), at));
    let places: HashMap<String, usize> = places.collect();
    for chunk in bound.chunks(ROWS_AT_ONCE) {
        let found: Vec<Row> = session
            .connection
            .exec(stored_sketches(table, chunk.len()), Params::Positional(chunk.concat()))
            .await?;
        for row in found {
            let values = Row::unwrap(row);
            let Some(at) = places.get(&format!("{:?}", &values[..keys])) else { continue };
            let stored = values[keys..].iter().map(|value| match value {
                Bound::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            });
            rows.merge_sketches(*at, table, stored).map_err(AttemptError::Refused)?;
        }
    }
    Ok(())
}

/// Two sources of a node may meet in one row; until the batch is done only one of them merges.
async fn lock(session: &mut Session, node: &str, table: &Table) -> Result<(), AttemptError> {
    // Names of locks have 64 characters at most, and are the server's, not the database's.
    let text = "SELECT SHA1(CONCAT_WS(' ', DATABASE(), ?, ?))";
    let name: Option<String> = session.connection.exec_first(text, (&table.name, node)).await?;
    let name = format!("tidegate {}", name.unwrap_or_default());
    // The batch's own time ends earlier.
    let text = "SELECT GET_LOCK(?, @@innodb_lock_wait_timeout)";
    let locked: Option<i64> = session.connection.exec_first(text, (&name,)).await?;
    if locked != Some(1) {
        return Err(AttemptError::Retry("another process merges sketches".to_owned()));
    }
    session.locks.push(name);
    Ok(())
}

/// Reads keys and sketches of rows by their keys.
fn stored_sketches(table: &Table, count: usize) -> String {
    let quoted = |column: &pipeline::Column| DIALECT.quoted(&column.name);
    let keys: Vec<String> = table.columns[..table.keys()].iter().map(quoted).collect();
    let sketches = table.columns.iter().filter(|column| column.role == ColumnRole::Sketch);
    let sketches: Vec<String> = sketches.map(quoted).collect();
    let places = format!("({})", vec!["?"; keys.len()].join(", "));
    let (keys, name) = (keys.join(", "), DIALECT.quoted(&table.name));
    format!(
        "SELECT {keys}, {} FROM {name} WHERE ({keys}) IN ({}) FOR UPDATE",
        sketches.join(", "),
        vec![places.as_str(); count].join(", ")
    )
}
