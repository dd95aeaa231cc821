//! Delivers into MariaDB and MySQL: a batch is one transaction of upserts.
//!
//! The checkpoint's row is updated first, so its lock makes a second writer wait, and then find
//! another sequence. Rows are made to fit first (`sanitise.rs`); what still does not fit is an
//! error, never cut. They go by multi-row `INSERT … ON DUPLICATE KEY UPDATE`. A statement has at
//! most 500 rows, 65,535 values and about 1 MiB. A transaction that the server ends for a deadlock
//! is tried five times.
//!
//! Invariant: rows and checkpoint are committed together. A connection that failed, or did not
//! finish within `statement_timeout`, is thrown away with its runtime. That closes the socket, and
//! the server rolls back what was not committed.
//! Elsewhere: settings of the session (`mysql/connection.rs`), statements (`sql.rs`), sketches
//! (`mysql/sketches.rs`).

mod bind;
mod connection;
mod dialect;
mod rows;
mod schema;
mod sketches;

use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params};
use pipeline::{Batch, Checkpoint, Sink, SinkError, Table, TableRows};

use self::connection::{MySqlConnection, Session, connect};
use self::dialect::{DIALECT, ROWS_AT_ONCE};
use crate::address::ServerAddress;
use crate::attempt::AttemptError;
use crate::readable::Readable;
use crate::runtime::{TRIES, within};
use crate::sanitise::SanitisedRows;
use crate::sql::{self, CHECKPOINTS};

pub(crate) use rows::rows;

const ENGINE: &str = "mysql";
/// Values that a statement may have.
const VALUES_AT_ONCE: usize = 65_535;
/// Bytes of one statement, unless a single row has more; servers take 16 MB and more by default.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Delivers into a MariaDB or MySQL database.
#[derive(Debug)]
pub(crate) struct MySqlSink {
    address: ServerAddress,
    connection: Option<MySqlConnection>,
}

impl MySqlSink {
    /// A sink for the database at `address`; nothing is connected yet.
    pub(crate) fn new(address: ServerAddress) -> Self {
        Self { address, connection: None }
    }

    /// Does a piece of work within the time for it; after a failure the connection is gone.
    fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> Result<T, AttemptError>,
    ) -> Result<T, SinkError> {
        let failed = |error: AttemptError| error.into_sink_error(ENGINE, &self.address);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.address).map_err(failed)?,
        };
        let limit = self.address.statement_timeout;
        let work = async { work(&mut connection.session).await };
        let outcome = connection.runtime.block_on(within(limit, work));
        let is_whole = matches!(outcome, Ok(_) | Err(AttemptError::Final(_)));
        if is_whole {
            self.connection = Some(connection);
        } else {
            let MySqlConnection { session, runtime } = connection;
            // The driver's farewell needs its runtime, and nobody waits for it.
            let _guard = runtime.enter();
            drop(session);
        }
        outcome.map_err(|error| error.into_sink_error(ENGINE, &self.address))
    }
}

impl Sink for MySqlSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        let limit = self.address.statement_timeout;
        self.attempt(async |session| {
            schema::prepare(&mut session.connection, tables, limit).await?;
            session.limits.clear();
            Ok(())
        })
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.attempt(async |session| {
            let text = format!(
                "SELECT node, source, sequence, position FROM {CHECKPOINTS} WHERE source = ?"
            );
            let rows: Vec<(String, String, u64, String)> =
                session.connection.exec(text, (source,)).await?;
            let checkpoints = rows.into_iter().map(|(node, source, sequence, position)| {
                Checkpoint { node, source, sequence, position }
            });
            Ok(checkpoints.collect())
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.attempt(async |session| {
            for _ in 1..TRIES {
                match deliver(session, batch).await {
                    Err(AttemptError::Retry(_)) => {}
                    done => return done,
                }
            }
            deliver(session, batch).await
        })
    }
}

async fn deliver(session: &mut Session, batch: &Batch) -> Result<(), AttemptError> {
    session.connection.query_drop("START TRANSACTION").await?;
    let written = write(session, batch).await;
    let end = if written.is_ok() { "COMMIT" } else { "ROLLBACK" };
    session.connection.query_drop(end).await?;
    for lock in session.locks.drain(..) {
        session.connection.exec_drop("DO RELEASE_LOCK(?)", (lock,)).await?;
    }
    written
}

async fn write(session: &mut Session, batch: &Batch) -> Result<(), AttemptError> {
    move_checkpoint(&mut session.connection, &batch.checkpoint).await?;
    for rows in batch.rows.iter().filter(|rows| !rows.is_empty()) {
        merge(session, &batch.checkpoint.node, rows).await?;
    }
    Ok(())
}

async fn move_checkpoint(connection: &mut Conn, new: &Checkpoint) -> Result<(), AttemptError> {
    let Checkpoint { node, source, sequence, position } = new;
    let update = format!(
        "UPDATE {CHECKPOINTS} SET sequence = ?, position = ? \
         WHERE node = ? AND source = ? AND sequence = ?"
    );
    let values = (sequence, position, node, source, sequence - 1);
    connection.exec_drop(update, values).await?;
    let mut moved = connection.affected_rows();
    if moved == 0 && *sequence == 1 {
        let insert = format!(
            "INSERT IGNORE INTO {CHECKPOINTS} (node, source, sequence, position) \
             VALUES (?, ?, ?, ?)"
        );
        connection.exec_drop(insert, (node, source, sequence, position)).await?;
        moved = connection.affected_rows();
    }
    if moved == 1 {
        return Ok(());
    }
    let stored = format!("SELECT sequence FROM {CHECKPOINTS} WHERE node = ? AND source = ?");
    let stored: Option<u64> = connection.exec_first(stored, (node, source)).await?;
    Err(AttemptError::Final(SinkError::Fenced {
        source_name: source.clone(),
        stored: stored.unwrap_or(0),
        expected: sequence - 1,
    }))
}

async fn merge(session: &mut Session, node: &str, rows: &TableRows) -> Result<(), AttemptError> {
    let table = &rows.table;
    let known = session.limits.iter().find(|(known, _)| known == table);
    let limits = match known {
        Some((_, limits)) => limits.clone(),
        None => {
            let limits = schema::key_limits(&mut session.connection, table).await?;
            session.limits.push((Arc::clone(table), limits.clone()));
            limits
        }
    };
    let mut sanitised = SanitisedRows::new(rows, &limits).map_err(AttemptError::Refused)?;
    if table.has_sketches() {
        sketches::merge(session, node, table, &mut sanitised).await?;
    }
    sanitised.fill_numbers(table).map_err(AttemptError::Refused)?;
    let table = &Readable::of(table).widened(table);
    let width = sql::stored(table).count();
    let places = format!("({})", vec!["?"; width].join(", "));
    let most = ROWS_AT_ONCE.min(VALUES_AT_ONCE / width.max(1));
    let mut rows = sanitised.rows().peekable();
    while rows.peek().is_some() {
        let (mut values, mut bytes, mut count) = (Vec::with_capacity(most * width), 0, 0);
        while let Some(row) = rows.next_if(|_| !(count == most || bytes >= BYTES_AT_ONCE)) {
            row.iter().for_each(|value| values.push(bind::bound(value, &mut bytes)));
            count += 1;
        }
        let source = format!("VALUES {}", vec![places.as_str(); count].join(", "));
        let text = DIALECT.merge(table, &source);
        session.connection.exec_drop(text, Params::Positional(values)).await?;
    }
    Ok(())
}
