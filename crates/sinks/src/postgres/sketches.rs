//! Merges the sketches that a PostgreSQL table holds into the rows of a batch.
//!
//! `postgres.rs` writes them back, in the same transaction. Invariant: an advisory lock on table
//! and node lets one source of a node merge at a time, until the commit. The lock's two numbers
//! stay the same: an older version may merge at the same time.

use pipeline::{ColumnRole, Table};
use tokio_postgres::Transaction;

use super::dialect::{DIALECT, ROW};
use crate::attempt::AttemptError;
use crate::sanitise::SanitisedRows;

/// Merges what the table holds into the rows, which stand in `stage` too; false when it holds
/// nothing for any of them.
pub(super) async fn merge(
    transaction: &Transaction<'_>,
    node: &str,
    table: &Table,
    (stage, rows): (&str, &mut SanitisedRows<'_>),
) -> Result<bool, AttemptError> {
    // Two sources of a node may meet in one row; until the commit only one of them merges.
    let lock = "SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))";
    transaction.execute(lock, &[&table.name, &node]).await?;
    let named = |column: &pipeline::Column| DIALECT.quoted(&column.name);
    let sketches = table.columns.iter().filter(|column| column.role == ColumnRole::Sketch);
    let sketches: Vec<String> = sketches.map(|c| format!("held.{}", named(c))).collect();
    let keys = table.columns[..table.keys()].iter().map(named);
    let keys: Vec<String> = keys.map(|name| format!("held.{name} = new.{name}")).collect();
    let text = format!(
        "SELECT new.{ROW}, {} FROM {stage} new JOIN {} held ON {}",
        sketches.join(", "),
        DIALECT.quoted(&table.name),
        keys.join(" AND ")
    );
    let found = transaction.query(&text, &[]).await?;
    for stored in &found {
        let at = usize::try_from(stored.try_get::<_, i64>(0)?).expect("rows are numbered from 0");
        let stored =
            (0..sketches.len()).map(|sketch| stored.try_get::<_, Option<&[u8]>>(sketch + 1));
        let stored = stored.collect::<Result<Vec<_>, _>>()?.into_iter();
        rows.merge_sketches(at, table, stored).map_err(AttemptError::Refused)?;
    }
    Ok(!found.is_empty())
}
