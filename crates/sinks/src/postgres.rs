//! PostgreSQL: a batch is one transaction, its rows come by binary COPY.
//!
//! Rows of a table with keys are copied into a temporary table and merged from there by one
//! `INSERT … SELECT … ON CONFLICT DO UPDATE`; others go straight in. The checkpoint's row is
//! updated first, so its lock makes a second writer wait, and then find another sequence.
//! Refuses: to set `synchronous_commit`, which is the operator's choice; the checkpoint is in the
//! same commit as the rows and is lost with them.
//!
//! A link that failed, or did not answer in time, is thrown away with its runtime, which closes
//! the socket: the server rolls back what was not committed.

mod copy;
mod rows;
mod schema;
mod sketches;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use pipeline::{Batch, Checkpoint, Kind, Sink, SinkError, Table, TableRows};
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket, Transaction};

use crate::address::{Address, Encryption};
use crate::sanitise::{KeyLimit, SanitisedRows};
use crate::sql::{self, CHECKPOINTS, Dialect};
use crate::trouble::{self, TRIES, Trouble, within};

pub(crate) use rows::rows;

const ENGINE: &str = "postgres";
/// An index entry has 2,704 bytes at most; this leaves room for numbers and times.
const KEY_TEXT_BYTES: usize = 2000;
/// What the name of a machine may take of it.
const NODE_BYTES: usize = 256;
/// A silent peer is noticed after about this long, where no statement is under way.
const KEEPALIVE: Duration = Duration::from_secs(30);

const DIALECT: Dialect = Dialect {
    quote: '"',
    types: ["text", "bigint", "double precision", "timestamp with time zone", "bytea"],
    also: &["character varying"],
    also_in_keys: &["text", "character varying"],
    incoming: ("excluded.", ""),
    on_conflict: " ON CONFLICT ({keys}) DO UPDATE SET ",
    least_greatest: ("LEAST", "GREATEST"),
    computed: "STORED",
    sums_stop_at: Some([(Kind::Integer, "4611686018427387903"), (Kind::Real, "1e300")]),
};

/// Delivers into a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresSink {
    address: Address,
    link: Option<Link>,
}

/// A connection with what drives it.
#[derive(Debug)]
struct Link {
    client: Client,
    /// Tables that have a temporary twin on this connection, by its number.
    staged: Vec<Arc<Table>>,
    runtime: Runtime,
}

impl PostgresSink {
    /// A sink for the database at `address`; nothing is connected yet.
    pub(crate) fn new(address: Address) -> Self {
        Self { address, link: None }
    }

    /// Does a piece of work within the time for it; on trouble the link is gone.
    fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Client, &mut Vec<Arc<Table>>) -> Result<T, Trouble>,
    ) -> Result<T, SinkError> {
        let told = |trouble: Trouble| trouble.told(ENGINE, &self.address);
        let mut link = match self.link.take() {
            Some(link) => link,
            None => connect(&self.address).map_err(told)?,
        };
        let limit = self.address.statement_timeout;
        let outcome = link
            .runtime
            .block_on(within(limit, async { work(&mut link.client, &mut link.staged).await }));
        match outcome {
            Ok(done) => {
                self.link = Some(link);
                Ok(done)
            }
            Err(trouble) => {
                if let Trouble::Told(_) = trouble {
                    self.link = Some(link);
                }
                Err(trouble.told(ENGINE, &self.address))
            }
        }
    }
}

impl From<tokio_postgres::Error> for Trouble {
    /// The server's or the driver's words, without the statement and without values.
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(server) = error.as_db_error() else {
            return Self::Unreachable(stdx::Chain(&error).to_string());
        };
        let state = server.code().code();
        let cause = format!("{} ({state})", server.message());
        match &state[..2] {
            "40" => Self::Again(cause),
            // Feature, cardinality, data, constraint, authorisation, catalogue, schema, access.
            "0A" | "21" | "22" | "23" | "28" | "3D" | "3F" | "42" => Self::Refused(cause),
            _ => Self::Unreachable(cause),
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
            let checkpoints = rows.iter().map(|row| Checkpoint {
                node: row.get(0),
                source: row.get(1),
                sequence: row.get::<_, i64>(2).unsigned_abs(),
                position: row.get(3),
            });
            Ok(checkpoints.collect())
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.attempt(async |client, staged| {
            for _ in 1..TRIES {
                match deliver(client, batch, staged).await {
                    Err(Trouble::Again(_)) => {}
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
) -> Result<(), Trouble> {
    let staged_before = staged.len();
    let transaction = client.transaction().await?;
    let outcome = write(&transaction, batch, staged).await;
    match outcome {
        Ok(()) => Ok(transaction.commit().await?),
        Err(trouble) => {
            // Twins that the transaction made are rolled back with it.
            staged.truncate(staged_before);
            transaction.rollback().await?;
            Err(trouble)
        }
    }
}

async fn write(
    transaction: &Transaction<'_>,
    batch: &Batch,
    staged: &mut Vec<Arc<Table>>,
) -> Result<(), Trouble> {
    move_checkpoint(transaction, &batch.checkpoint).await?;
    for rows in batch.rows.iter().filter(|rows| !rows.is_empty()) {
        merge(transaction, &batch.checkpoint.node, rows, staged).await?;
    }
    Ok(())
}

async fn move_checkpoint(transaction: &Transaction<'_>, new: &Checkpoint) -> Result<(), Trouble> {
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
    let held = format!("SELECT sequence FROM {CHECKPOINTS} WHERE node = $1 AND source = $2");
    let held = transaction.query_opt(&held, &[node, source]).await?;
    Err(Trouble::Told(SinkError::Fenced {
        source_name: source.clone(),
        held: held.map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()),
        expected: new.sequence - 1,
    }))
}

async fn merge(
    transaction: &Transaction<'_>,
    node: &str,
    rows: &TableRows,
    staged: &mut Vec<Arc<Table>>,
) -> Result<(), Trouble> {
    let table = &rows.table;
    let mut fitted = SanitisedRows::new(rows, &key_limits(table)).map_err(Trouble::Refused)?;
    if table.keys() == 0 {
        return Ok(copy::into_table(transaction, table, &fitted).await?);
    }
    let stage = schema::stage(transaction, table, staged).await?;
    copy::into_stage(transaction, &stage, table, &fitted).await?;
    if table.has_sketches()
        && sketches::merge(transaction, node, table, (&stage, &mut fitted)).await?
    {
        transaction.batch_execute(&format!("DELETE FROM {stage}")).await?;
        copy::into_stage(transaction, &stage, table, &fitted).await?;
    }
    let source = format!("SELECT {} FROM {stage}", DIALECT.stored_names(table));
    transaction.execute(&DIALECT.merge(table, &source), &[]).await?;
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

fn connect(address: &Address) -> Result<Link, Trouble> {
    let runtime = trouble::runtime()?;
    let tls = crate::tls::config(address)
        .map_err(|error| Trouble::Refused(stdx::Chain(&error).to_string()))?;
    let client = runtime.block_on(within(address.connect_timeout, async {
        let client = match tls {
            None => connect_by(address, NoTls).await?,
            Some(config) => connect_by(address, tls::Rustls(config)).await?,
        };
        // Should this process vanish without a word, its locks are not held for long.
        let limit = address.statement_timeout.as_millis();
        let settings = format!(
            "SET statement_timeout = {limit}; SET lock_timeout = {limit}; \
             SET idle_in_transaction_session_timeout = {limit}; \
             SET client_min_messages = warning"
        );
        client.batch_execute(&settings).await?;
        Ok(client)
    }))?;
    Ok(Link { client, staged: Vec::new(), runtime })
}

async fn connect_by<T>(address: &Address, tls: T) -> Result<Client, Trouble>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let mut config = Config::new();
    config
        .host(&address.host)
        .port(address.port)
        .user(&address.user)
        .dbname(&address.database)
        .application_name("tidegate")
        .keepalives_idle(KEEPALIVE)
        .ssl_mode(match address.encryption {
            Encryption::Disable => SslMode::Disable,
            Encryption::Prefer => SslMode::Prefer,
            Encryption::Require | Encryption::VerifyFull => SslMode::Require,
        });
    if let Some(password) = &address.password {
        config.password(password);
    }
    let (client, connection) = config.connect(tls).await?;
    // It ends when the client is dropped; what goes wrong reaches the client's calls.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}
