//! MariaDB and MySQL: a batch is one transaction of multi-row `INSERT … ON DUPLICATE KEY UPDATE`.
//!
//! The checkpoint's row is updated first, so its lock makes a second writer wait, and then find
//! another sequence. Sessions are strict, in UTC, and read what is committed: what does not fit is
//! an error and never cut, and writers of other keys are not held up by locks on gaps.
//!
//! A link that failed, or did not answer in time, is thrown away with its runtime, which closes
//! the socket: the server rolls back what was not committed.

mod row;
mod rows;
mod schema;
mod sketches;

use std::sync::Arc;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, Error, OptsBuilder, Params, SslOpts};
use pipeline::{Batch, Checkpoint, Kind, Sink, SinkError, Table, TableRows};
use tokio::runtime::Runtime;

use crate::address::{Address, Encryption};
use crate::sanitise::{KeyLimit, SanitisedRows};
use crate::sql::{self, CHECKPOINTS, Dialect};
use crate::trouble::{self, TRIES, Trouble, within};

pub(crate) use rows::rows;

const ENGINE: &str = "mysql";
/// Rows of one statement; more gain nothing.
const ROWS_AT_ONCE: usize = 500;
/// Values that a statement may have.
const VALUES_AT_ONCE: usize = 65_535;
/// Bytes of one statement, unless a single row has more; servers take 16 MB and more by default.
const BYTES_AT_ONCE: usize = 1 << 20;
/// A silent peer is noticed after about this long, where no statement is under way.
const KEEPALIVE: Duration = Duration::from_secs(30);

const DIALECT: Dialect = Dialect {
    quote: '`',
    types: ["longtext", "bigint", "double", "datetime(6)", "longblob"],
    also: &[],
    also_in_keys: &["varchar"],
    incoming: ("VALUES(", ")"),
    on_conflict: " ON DUPLICATE KEY UPDATE ",
    least_greatest: ("LEAST", "GREATEST"),
    computed: "STORED",
    sums_stop_at: Some([(Kind::Integer, "4611686018427387903"), (Kind::Real, "1e300")]),
};

/// Delivers into a MariaDB or MySQL database.
#[derive(Debug)]
pub struct MySqlSink {
    address: Address,
    link: Option<Link>,
}

/// A connection with what drives it.
#[derive(Debug)]
struct Link {
    session: Session,
    runtime: Runtime,
}

/// A connection, and how long keys may be in the tables that it has seen.
#[derive(Debug)]
struct Session {
    connection: Conn,
    limits: Vec<(Arc<Table>, Vec<KeyLimit>)>,
    /// Names of locks that are held until the batch is done.
    locks: Vec<String>,
}

impl MySqlSink {
    /// A sink for the database at `address`; nothing is connected yet.
    pub(crate) fn new(address: Address) -> Self {
        Self { address, link: None }
    }

    /// Does a piece of work within the time for it; on trouble the link is gone.
    fn attempt<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, SinkError> {
        let told = |trouble: Trouble| trouble.told(ENGINE, &self.address);
        let mut link = match self.link.take() {
            Some(link) => link,
            None => connect(&self.address).map_err(told)?,
        };
        let limit = self.address.statement_timeout;
        let work = async { work(&mut link.session).await };
        let outcome = link.runtime.block_on(within(limit, work));
        let is_whole = matches!(outcome, Ok(_) | Err(Trouble::Told(_)));
        if is_whole {
            self.link = Some(link);
        } else {
            let Link { session, runtime } = link;
            // The driver's farewell needs its runtime, and nobody waits for it.
            let _guard = runtime.enter();
            drop(session);
        }
        outcome.map_err(|trouble| trouble.told(ENGINE, &self.address))
    }
}

impl From<Error> for Trouble {
    /// The server's or the driver's words, without the statement and without values.
    fn from(error: Error) -> Self {
        let Error::Server(server) = &error else {
            return Self::Unreachable(stdx::Chain(&error).to_string());
        };
        let cause = format!("{} ({})", server.message, server.code);
        match (server.code, server.state.get(..2)) {
            // Deadlock; the snapshot is too old.
            (1213 | 1020, _) => Self::Again(cause),
            // No default, not a value of that type, row too large.
            (1364 | 1366 | 1118, _) => Self::Refused(cause),
            // Feature, cardinality, data, constraint, authorisation, catalogue, access.
            (_, Some("0A" | "21" | "22" | "23" | "28" | "3D" | "42")) => Self::Refused(cause),
            _ => Self::Unreachable(cause),
        }
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
                    Err(Trouble::Again(_)) => {}
                    done => return done,
                }
            }
            deliver(session, batch).await
        })
    }
}

async fn deliver(session: &mut Session, batch: &Batch) -> Result<(), Trouble> {
    session.connection.query_drop("START TRANSACTION").await?;
    let written = write(session, batch).await;
    let end = if written.is_ok() { "COMMIT" } else { "ROLLBACK" };
    session.connection.query_drop(end).await?;
    for lock in session.locks.drain(..) {
        session.connection.exec_drop("DO RELEASE_LOCK(?)", (lock,)).await?;
    }
    written
}

async fn write(session: &mut Session, batch: &Batch) -> Result<(), Trouble> {
    move_checkpoint(&mut session.connection, &batch.checkpoint).await?;
    for rows in batch.rows.iter().filter(|rows| !rows.is_empty()) {
        merge(session, &batch.checkpoint.node, rows).await?;
    }
    Ok(())
}

async fn move_checkpoint(connection: &mut Conn, new: &Checkpoint) -> Result<(), Trouble> {
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
    let held = format!("SELECT sequence FROM {CHECKPOINTS} WHERE node = ? AND source = ?");
    let held: Option<u64> = connection.exec_first(held, (node, source)).await?;
    Err(Trouble::Told(SinkError::Fenced {
        source_name: source.clone(),
        held: held.unwrap_or(0),
        expected: sequence - 1,
    }))
}

async fn merge(session: &mut Session, node: &str, rows: &TableRows) -> Result<(), Trouble> {
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
    let mut fitted = SanitisedRows::new(rows, &limits).map_err(Trouble::Refused)?;
    if table.has_sketches() {
        sketches::merge(session, node, table, &mut fitted).await?;
    }
    let width = sql::stored(table).count();
    let places = format!("({})", vec!["?"; width].join(", "));
    let most = ROWS_AT_ONCE.min(VALUES_AT_ONCE / width.max(1));
    let mut rows = fitted.rows().peekable();
    while rows.peek().is_some() {
        let (mut values, mut bytes, mut count) = (Vec::with_capacity(most * width), 0, 0);
        while let Some(row) = rows.next_if(|_| count < most && bytes < BYTES_AT_ONCE) {
            row.iter().for_each(|value| values.push(row::bound(value, &mut bytes)));
            count += 1;
        }
        let source = format!("VALUES {}", vec![places.as_str(); count].join(", "));
        let text = DIALECT.merge(table, &source);
        session.connection.exec_drop(text, Params::Positional(values)).await?;
    }
    Ok(())
}

fn connect(address: &Address) -> Result<Link, Trouble> {
    let runtime = trouble::runtime()?;
    // Read here, so that a file that is missing is named.
    crate::tls::config(address)
        .map_err(|error| Trouble::Refused(stdx::Chain(&error).to_string()))?;
    let connection = runtime.block_on(within(address.connect_timeout, async {
        let first = Conn::new(options(address, encrypted(address))).await;
        match first {
            Err(Error::Driver(DriverError::NoClientSslFlagFromServer))
                if address.encryption == Encryption::Prefer =>
            {
                Ok(Conn::new(options(address, None)).await?)
            }
            first => Ok(first?),
        }
    }))?;
    Ok(Link { session: Session { connection, limits: Vec::new(), locks: Vec::new() }, runtime })
}

fn options(address: &Address, encrypted: Option<SslOpts>) -> OptsBuilder {
    let seconds = address.statement_timeout.as_secs().max(1);
    OptsBuilder::default()
        .ip_or_hostname(address.host.clone())
        .tcp_port(address.port)
        .user(Some(address.user.clone()))
        .pass(address.password.clone())
        .db_name(Some(address.database.clone()))
        .prefer_socket(false)
        .tcp_keepalive(Some(KEEPALIVE))
        .ssl_opts(encrypted)
        .init(vec![
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
             time_zone = '+00:00', group_concat_max_len = 65536"
                .to_owned(),
            "SET NAMES utf8mb4".to_owned(),
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
            format!("SET SESSION innodb_lock_wait_timeout = {seconds}"),
        ])
}

fn encrypted(address: &Address) -> Option<SslOpts> {
    match address.encryption {
        Encryption::Disable => None,
        Encryption::Prefer | Encryption::Require => Some(
            SslOpts::default()
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        ),
        Encryption::VerifyFull => Some(match &address.root_certificates {
            None => SslOpts::default(),
            Some(file) => SslOpts::default()
                .with_root_certs(vec![file.clone().into()])
                .with_disable_built_in_roots(true),
        }),
    }
}
