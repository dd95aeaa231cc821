//! Makes tables of PostgreSQL that are missing, checks those there, and makes temporary twins.
//!
//! An advisory lock keeps two processes from making tables at once. Columns that are missing are
//! added (`existing.rs` tells which). `describe` gives types as `format_type` writes them, and
//! `postgres/dialect.rs` spells them so. Text in keys has `COLLATE "C"`: it is compared byte by
//! byte.
//! A twin belongs to a connection, has no constraints, and is empty after each commit.
//! `postgres.rs` forgets twins of a transaction that was rolled back.

use std::sync::Arc;

use pipeline::Table;
use tokio_postgres::{Client, Transaction};

use super::dialect::{DIALECT, ROW};
use crate::attempt::AttemptError;
use crate::existing::{self, ExistingColumn, ExistingTable};
use crate::readable;
use crate::sql::{self, CHECKPOINTS};

/// The server cuts longer names, so that two could become one.
const NAME_BYTES_MAX: usize = 63;
/// Taken while tables are made: `IF NOT EXISTS` alone fails when two do it at once.
const LOCK: i64 = 0x7469_6465_6761_7465;
/// Keys are compared byte by byte: faster, and no other order after an upgrade of the C library.
const KEY_TEXT: &str = "text COLLATE \"C\"";

pub(super) async fn prepare(
    client: &mut Client,
    tables: &[Arc<Table>],
) -> Result<(), AttemptError> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    if describe(&transaction, CHECKPOINTS).await?.columns.is_empty() {
        let text = format!(
            "CREATE TABLE {CHECKPOINTS} (node text NOT NULL, source text NOT NULL, \
             sequence bigint NOT NULL, position text NOT NULL, PRIMARY KEY (node, source))"
        );
        transaction.batch_execute(&text).await?;
    }
    for table in &readable::widened(tables) {
        existing::check_names(table, NAME_BYTES_MAX).map_err(AttemptError::Refused)?;
        let existing = describe(&transaction, &table.name).await?;
        if existing.columns.is_empty() {
            transaction.batch_execute(&DIALECT.create(table, |_| KEY_TEXT.to_owned())).await?;
            continue;
        }
        for column in existing.lacks(table, &DIALECT, KEY_TEXT).map_err(AttemptError::Refused)? {
            transaction.batch_execute(&DIALECT.add_column(table, column)).await?;
        }
    }
    Ok(transaction.commit().await?)
}

/// The temporary twin of `table`, made where this connection has none.
pub(super) async fn stage(
    transaction: &Transaction<'_>,
    table: &Arc<Table>,
    staged: &mut Vec<Arc<Table>>,
) -> Result<String, AttemptError> {
    let known = staged.iter().position(|known| known == table);
    let name = format!("tidegate_stage_{}", known.unwrap_or(staged.len()));
    if known.is_none() {
        let columns = sql::stored(table).map(|column| {
            let kind = DIALECT.types[column.kind as usize];
            format!("{} {kind}", DIALECT.quoted(&column.name))
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let text = format!(
            "CREATE TEMPORARY TABLE {name} ({ROW} bigint, {columns}) \
             ON COMMIT DELETE ROWS"
        );
        transaction.batch_execute(&text).await?;
        staged.push(Arc::clone(table));
    }
    Ok(format!("pg_temp.{name}"))
}

async fn describe(
    transaction: &Transaction<'_>,
    name: &str,
) -> Result<ExistingTable, AttemptError> {
    let name = DIALECT.quoted(name);
    let columns = "SELECT attname::text, format_type(atttypid, atttypmod), \
         attnotnull AND NOT atthasdef AND attidentity = '' \
         FROM pg_attribute WHERE attrelid = to_regclass($1::text) AND attnum > 0 \
         AND NOT attisdropped";
    let uniques = "SELECT ARRAY(SELECT attname::text FROM pg_attribute \
         WHERE attrelid = indrelid AND attnum = ANY (indkey)) \
         FROM pg_index WHERE indrelid = to_regclass($1::text) AND indisunique AND indisvalid \
         AND indpred IS NULL AND indexprs IS NULL";
    let columns = transaction.query(columns, &[&name]).await?;
    let uniques = transaction.query(uniques, &[&name]).await?;
    let column = |row: &tokio_postgres::Row| {
        Ok(ExistingColumn {
            name: row.try_get(0)?,
            kind: row.try_get(1)?,
            is_required: row.try_get(2)?,
            characters_max: None,
        })
    };
    let columns: Result<_, tokio_postgres::Error> = columns.iter().map(column).collect();
    let uniques: Result<_, tokio_postgres::Error> =
        uniques.iter().map(|row| row.try_get(0)).collect();
    Ok(ExistingTable { columns: columns?, uniques: uniques? })
}
