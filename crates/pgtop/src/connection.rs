//! Connects to a server for watching it, and runs statements one after the other.
//!
//! A runtime of its own drives the connection while a call waits. The session only reads, says who
//! it is, and gives up: on a statement after `STATEMENT_TIMEOUT`, on a lock after 50 ms. Texts come
//! unconverted, as the client's encoding is `SQL_ASCII` (`value.rs`).
//! Invariant: names are looked up in `pg_catalog` alone. A database's owner may set another
//! `search_path`, whose views and operators would run as this role; a session with one is refused.
//! Invariant: errors have the server's message and code, never the statement, values or passwords.
//! Failure: after an error that is not the server's answer the connection is dead
//! ([`PgError::Lost`]); the caller makes a new one.

use std::collections::HashMap;
use std::time::Duration;

use stdx::Chain;
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row as PgRow, Socket, Statement};

use crate::address::{PgAddress, PgEncryption};
use crate::tls::{self, PgTls};
use crate::value::SqlScalar;

/// What servers know this session by.
pub const APPLICATION_NAME: &str = "tidegate pgtop";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_TIMEOUT: Duration = Duration::from_millis(900);
/// Above the server's own limit, for a server or a network that has gone silent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// As it is asked for, and as `SHOW` has it.
const SEARCH_PATH: &str = "pg_catalog";

/// SQLSTATE of a text that refers to values that nobody gave. [`PgConnection`] itself answers with
/// it, once the server has said how many there are.
pub(crate) const MISSING_VALUES: &str = "08P01";

/// Why a statement or a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PgError {
    /// The server answered with an error; the connection is as it was.
    #[error("{message} ({state})")]
    Answered {
        /// The five characters of SQLSTATE.
        state: String,
        /// The server's message.
        message: String,
    },
    /// There is no connection, or none any more: connect again.
    #[error("{0}")]
    Lost(String),
}

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(server) = error.as_db_error() else {
            let text = Chain(&error).to_string();
            // The driver is asked by nobody who could give it one.
            return Self::Lost(match text.contains("password missing") {
                true => "the server asks for a password: `--prompt`, `PGPASSWORD`, or a line of \
                         `~/.pgpass` that only you may read (mode 600)"
                    .to_owned(),
                false => text,
            });
        };
        let state = server.code().code().to_owned();
        let message = server.message().to_owned();
        // Shutdowns and what keeps one from connecting at all.
        match &state[..3] {
            "57P" => Self::Lost(format!("{message} ({state})")),
            _ => Self::Answered { state, message },
        }
    }
}

/// A connection for watching.
pub struct PgConnection {
    client: Client,
    runtime: Runtime,
    prepared: HashMap<String, Statement>,
    /// Statements that ran, each a transaction.
    pub(crate) statements: i64,
}

impl PgConnection {
    /// Connects, and makes the session one that only reads.
    ///
    /// # Errors
    /// When nobody answers within 5 seconds, or the server refuses.
    pub fn open(address: &PgAddress) -> Result<Self, PgError> {
        let lost = |error: &dyn std::error::Error| PgError::Lost(Chain(error).to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| lost(&error))?;
        let tls = tls::config(address).map_err(|error| lost(&error))?;
        let connected = runtime.block_on(async {
            let connecting = async {
                let client = match tls {
                    None => connect_by(address, NoTls).await?,
                    Some(config) => connect_by(address, PgTls(config)).await?,
                };
                // In an order in which a failure leaves a session that does less, not more.
                let settings = format!(
                    "SET default_transaction_read_only = on; SET lock_timeout = 50; \
                     SET statement_timeout = {}; SET client_min_messages = error; \
                     SET client_encoding = 'SQL_ASCII'",
                    STATEMENT_TIMEOUT.as_millis()
                );
                client.batch_execute(&settings).await?;
                Ok::<_, tokio_postgres::Error>(client)
            };
            tokio::time::timeout(CONNECT_TIMEOUT, connecting).await
        });
        let Ok(connected) = connected else {
            return Err(PgError::Lost("no answer within 5 s".to_owned()));
        };
        let client = connected?;
        let mut connection = Self { client, runtime, prepared: HashMap::new(), statements: 0 };
        // A pooler may keep a session's settings, and pass over those of its clients.
        let path = connection.once("SHOW search_path")?;
        match path.first().and_then(|row| row.first()).and_then(SqlScalar::text) {
            Some(SEARCH_PATH) => Ok(connection),
            _ => Err(PgError::Lost(
                "search_path is not pg_catalog, as was asked for: connect without a pooler"
                    .to_owned(),
            )),
        }
    }

    /// Runs a statement and returns its rows.
    ///
    /// # Errors
    /// When the server refuses or is gone.
    pub fn rows(
        &mut self,
        text: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Vec<SqlScalar>>, PgError> {
        self.named_rows(text, parameters).map(|(_, rows)| rows)
    }

    /// Runs a statement and returns its columns' names and its rows.
    ///
    /// # Errors
    /// As [`PgConnection::rows`].
    pub(crate) fn named_rows(
        &mut self,
        text: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<(Vec<String>, Vec<Vec<SqlScalar>>), PgError> {
        self.statements += 1;
        let asked = async {
            let statement = match self.prepared.get(text) {
                Some(statement) => statement.clone(),
                None => self.client.prepare(text).await?,
            };
            if statement.params().len() != parameters.len() {
                let message = format!("{} values are missing", statement.params().len());
                return Err(PgError::Answered { state: MISSING_VALUES.to_owned(), message });
            }
            let rows = self.client.query(&statement, parameters).await?;
            Ok((statement, rows))
        };
        let waited = async { tokio::time::timeout(ANSWER_TIMEOUT, asked).await };
        let Ok(answer) = self.runtime.block_on(waited) else {
            return Err(PgError::Lost("no answer within 3 s".to_owned()));
        };
        let (statement, rows) = answer?;
        let columns = statement.columns().iter().map(|column| column.name().to_owned()).collect();
        self.prepared.entry(text.to_owned()).or_insert(statement);
        let rows = rows.iter().map(values).collect::<Result<_, tokio_postgres::Error>>()?;
        Ok((columns, rows))
    }

    /// Runs one statement without parameters that is not kept.
    pub(crate) fn once(&mut self, text: &str) -> Result<Vec<Vec<SqlScalar>>, PgError> {
        let rows = self.rows(text, &[]);
        self.prepared.remove(text);
        rows
    }
}

fn values(row: &PgRow) -> Result<Vec<SqlScalar>, tokio_postgres::Error> {
    (0..row.len()).map(|at| row.try_get(at)).collect()
}

async fn connect_by<T>(address: &PgAddress, tls: T) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let mut config = Config::new();
    config.host(&address.host).port(address.port);
    config.user(&address.user).dbname(&address.database);
    config.application_name(APPLICATION_NAME);
    // It wins over `ALTER DATABASE … SET` and `ALTER ROLE … SET`.
    config.options(format!("-c search_path={SEARCH_PATH}"));
    config.ssl_mode(match address.encryption {
        PgEncryption::Disable => SslMode::Disable,
        _ if address.host.starts_with('/') => SslMode::Disable,
        PgEncryption::Prefer => SslMode::Prefer,
        PgEncryption::Require | PgEncryption::VerifyFull => SslMode::Require,
    });
    if let Some(password) = &address.password {
        config.password(&password.0);
    }
    let (client, connection) = config.connect(tls).await?;
    // It ends when the client is dropped; what goes wrong reaches the client's calls.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}
