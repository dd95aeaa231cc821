//! Delivers into PostgreSQL: a batch is one transaction, its rows come by binary COPY.
//!
//! Rows of a table with keys are copied into a temporary table and merged from there by one `INSERT
//! … SELECT … ON CONFLICT DO UPDATE`. Others go straight in. Both were measured
//! (docs/decisions/events.md). The checkpoint's row is updated first, so its lock makes a second
//! writer wait, and then find another sequence. A transaction that the server ends for another's
//! sake (SQLSTATE 40) is tried five times.
//! Also here: how many bytes each text key has, 2,000 in all with the machine's name. No column
//! holds that bound. With another one, a long key that is stored is cut elsewhere and gets a second
//! row. The page docs/operating/sinks.md names it without the machine's name.
//!
//! Invariant: rows and checkpoint are committed together. A connection that failed, or did not
//! finish within `statement_timeout`, is thrown away with its runtime. That closes the socket, and
//! the server rolls back what was not committed.
//! Refuses: to set `synchronous_commit`, which is the operator's choice. The checkpoint is in the
//! same commit as the rows and is lost with them.

mod connection;
mod copy;
mod dialect;
mod rows;
mod schema;
mod sketches;
mod tls;

use std::sync::Arc;

use pipeline::{Batch, Checkpoint, Sink, SinkError, Table, TableRows};
use tokio_postgres::{Client, Transaction};

use self::connection::{PostgresConnection, connect};
use self::dialect::DIALECT;
use crate::address::ServerAddress;
use crate::attempt::AttemptError;
use crate::readable::Readable;
use crate::runtime::{TRIES, within};
use crate::sanitise::{KeyLimit, SanitisedRows};
use crate::sql::{self, CHECKPOINTS};

pub(crate) use rows::rows;

const ENGINE: &str = "postgres";
/// An index entry has 2,704 bytes at most; this leaves room for numbers and times.
const KEY_TEXT_BYTES: usize = 2000;
/// What the name of a machine may take of it.
const NODE_BYTES: usize = 256;
/// Delivers into a PostgreSQL database.
#[derive(Debug)]
pub(crate) struct PostgresSink {
    address: ServerAddress,
    connection: Option<PostgresConnection>,
}

impl PostgresSink {
    /// A sink for the database at `address`; nothing is connected yet.
    pub(crate) fn new(address: ServerAddress) -> Self {
        Self { address, connection: None }
    }

    /// Does a piece of work within the time for it; after a failure the connection is gone.
    fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Client, &mut Vec<Arc<Table>>) -> Result<T, AttemptError>,
    ) -> Result<T, SinkError> {
        let failed = |error: AttemptError| error.into_sink_error(ENGINE, &self.address);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.address).map_err(failed)?,
        };
        let limit = self.address.statement_timeout;
        let outcome = connection.runtime.block_on(within(limit, async {
            work(&mut connection.client, &mut connection.staged).await
        }));
        match outcome {
            Ok(done) => {
                self.connection = Some(connection);
                Ok(done)
            }
            Err(error) => {
                if let AttemptError::Final(_) = error {
                    self.connection = Some(connection);
                }
                Err(error.into_sink_error(ENGINE, &self.address))
            }
        }
    }
}

impl Sink for PostgresSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        self.attempt(async |client, _| schema::prepare(client, tables).await)
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.attempt(async |client, _| {
            let text = format!(
                "SELECT node, source, sequence, position FROM {CHECKPOINTS} WHERE source = $1"
            );
            let rows = client.query(&text, &[&source]).await?;
            let checkpoint = |row: &tokio_postgres::Row| {
                Ok(Checkpoint {
                    node: row.try_get(0)?,
                    source: row.try_get(1)?,
                    sequence: row.try_get::<_, i64>(2)?.unsigned_abs(),
                    position: row.try_get(3)?,
                })
            };
            rows.iter().map(checkpoint).collect()
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.attempt(async |client, staged| {
            for _ in 1..TRIES {
                match deliver(client, batch, staged).await {
                    Err(AttemptError::Retry(_)) => {}
                    done => return done,
                }
            }
            deliver(client, batch, staged).await
        })
    }
}

async fn deliver(
    client: &mut Client,
    batch: &Batch,
    staged: &mut Vec<Arc<Table>>,
) -> Result<(), AttemptError> {
    let staged_before = staged.len();
    let transaction = client.transaction().await?;
    let outcome = write(&transaction, batch, staged).await;
    match outcome {
        Ok(()) => Ok(transaction.commit().await?),
        Err(error) => {
            // Twins that the transaction made are rolled back with it.
            staged.truncate(staged_before);
            transaction.rollback().await?;
            Err(error)
        }
    }
}

async fn write(
    transaction: &Transaction<'_>,
    batch: &Batch,
    staged: &mut Vec<Arc<Table>>,
) -> Result<(), AttemptError> {
    move_checkpoint(transaction, &batch.checkpoint).await?;
    for rows in batch.rows.iter().filter(|rows| !rows.is_empty()) {
        merge(transaction, &batch.checkpoint.node, rows, staged).await?;
    }
    Ok(())
}

async fn move_checkpoint(
    transaction: &Transaction<'_>,
    new: &Checkpoint,
) -> Result<(), AttemptError> {
    let expected = new.sequence as i64 - 1;
    let update = format!(
        "UPDATE {CHECKPOINTS} SET sequence = $3 + 1, position = $4 \
         WHERE node = $1 AND source = $2 AND sequence = $3"
    );
    let Checkpoint { node, source, position, .. } = new;
    let mut moved = transaction.execute(&update, &[node, source, &expected, position]).await?;
    if moved == 0 && expected == 0 {
        let insert = format!(
            "INSERT INTO {CHECKPOINTS} (node, source, sequence, position) \
             VALUES ($1, $2, $3::bigint + 1, $4) ON CONFLICT (node, source) DO NOTHING"
        );
        moved = transaction.execute(&insert, &[node, source, &expected, position]).await?;
    }
    if moved == 1 {
        return Ok(());
    }
    let stored = format!("SELECT sequence FROM {CHECKPOINTS} WHERE node = $1 AND source = $2");
    let stored = transaction.query_opt(&stored, &[node, source]).await?;
    let stored = stored.map(|row| row.try_get::<_, i64>(0)).transpose()?;
    Err(AttemptError::Final(SinkError::Fenced {
        source_name: source.clone(),
        stored: stored.map_or(0, i64::unsigned_abs),
        expected: new.sequence - 1,
    }))
}

async fn merge(
    transaction: &Transaction<'_>,
    node: &str,
    rows: &TableRows,
    staged: &mut Vec<Arc<Table>>,
) -> Result<(), AttemptError> {
    let table = &rows.table;
    let mut sanitised =
        SanitisedRows::new(rows, &key_limits(table)).map_err(AttemptError::Refused)?;
    if table.keys() == 0 {
        return Ok(copy::into_table(transaction, table, &sanitised).await?);
    }
    let wide = Readable::of(table).widened(table);
    let stage = schema::stage(transaction, &wide, staged).await?;
    sanitised.fill_numbers(table).map_err(AttemptError::Refused)?;
    copy::into_stage(transaction, &stage, &wide, &sanitised).await?;
    if table.has_sketches()
        && sketches::merge(transaction, node, table, (&stage, &mut sanitised)).await?
    {
        sanitised.fill_numbers(table).map_err(AttemptError::Refused)?;
        transaction.batch_execute(&format!("DELETE FROM {stage}")).await?;
        copy::into_stage(transaction, &stage, &wide, &sanitised).await?;
    }
    let source = format!("SELECT {} FROM {stage}", DIALECT.stored_names(&wide));
    transaction.execute(&DIALECT.merge(&wide, &source), &[]).await?;
    Ok(())
}

/// Text keys share the room of an index entry.
fn key_limits(table: &Table) -> Vec<KeyLimit> {
    let limit = KeyLimit::Bytes((KEY_TEXT_BYTES - NODE_BYTES) / sql::key_texts(table).max(1));
    let keys = table.columns[..table.keys()].iter();
    let limits = keys.map(|key| match sql::is_node(table, key) {
        true => KeyLimit::Bytes(NODE_BYTES),
        false => limit,
    });
    limits.collect()
}

#[cfg(test)]
mod tests;
