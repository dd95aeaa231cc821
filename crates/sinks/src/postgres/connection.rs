//! Connects to PostgreSQL, with a runtime of its own, and sorts the server's errors.
//!
//! Connecting takes at most `connect_timeout`. Statements, locks and idle transactions end at the
//! server after `statement_timeout`, so a process that vanished does not hold its locks for long.
//! `postgres/rows.rs` lifts the limit of statements for its queries. SQLSTATE 40 is `Retry`; bad
//! data, rights and missing tables are `Refused`; all else is `Unreachable`.
//! Errors have the server's message and code, never the statement or values.

use std::sync::Arc;
use std::time::Duration;

use pipeline::Table;
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};

use super::tls::Rustls;
use crate::address::{Encryption, ServerAddress};
use crate::attempt::AttemptError;
use crate::runtime::{self, within};

/// A silent peer is noticed after about this long, where no statement is under way.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection with what drives it.
#[derive(Debug)]
pub(super) struct PostgresConnection {
    pub client: Client,
    /// Tables that have a temporary twin on this connection, by its number.
    pub staged: Vec<Arc<Table>>,
    pub runtime: Runtime,
}

impl From<tokio_postgres::Error> for AttemptError {
    /// What the server or the driver says, without the statement and without values.
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(server) = error.as_db_error() else {
            return Self::Unreachable(stdx::Chain(&error).to_string());
        };
        let state = server.code().code();
        let reason = format!("{} ({state})", server.message());
        match &state[..2] {
            "40" => Self::Retry(reason),
            // Feature, cardinality, data, constraint, authorisation, catalogue, schema, access.
            "0A" | "21" | "22" | "23" | "28" | "3D" | "3F" | "42" => Self::Refused(reason),
            _ => Self::Unreachable(reason),
        }
    }
}

/// Connects within the time that the address allows.
pub(super) fn connect(address: &ServerAddress) -> Result<PostgresConnection, AttemptError> {
    let runtime = runtime::runtime()?;
    let tls = crate::tls::config(address)
        .map_err(|error| AttemptError::Refused(stdx::Chain(&error).to_string()))?;
    let client = runtime.block_on(within(address.connect_timeout, async {
        let client = match tls {
            None => connect_by(address, NoTls).await?,
            Some(config) => connect_by(address, Rustls(config)).await?,
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
    Ok(PostgresConnection { client, staged: Vec::new(), runtime })
}

async fn connect_by<T>(address: &ServerAddress, tls: T) -> Result<Client, AttemptError>
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
