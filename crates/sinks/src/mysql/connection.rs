//! Connects to MariaDB or MySQL, with a runtime of its own, and sorts the driver's errors.
//!
//! Invariant: a session is strict, in UTC, and reads what is committed. So a value that does not
//! fit is an error, and writers of other keys are not held up by locks on gaps. `prefer` encrypts
//! without a look at certificates, and goes on in plain text where the server has no TLS.
//! Connecting takes at most `connect_timeout`. Deadlocks and outdated snapshots are `Retry`; bad
//! data, rights and missing tables `Refused`; all else `Unreachable`.
//! Others rely on two settings of the session. `mysql/sketches.rs` waits for its lock as long as
//! `innodb_lock_wait_timeout`. `mysql/schema.rs` reads unique indexes by `GROUP_CONCAT`, which
//! `group_concat_max_len` bounds.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::{Conn, DriverError, Error, OptsBuilder, SslOpts};
use pipeline::Table;
use tokio::runtime::Runtime;

use crate::address::{Encryption, ServerAddress};
use crate::attempt::AttemptError;
use crate::runtime::{self, within};
use crate::sanitise::KeyLimit;

/// A silent peer is noticed after about this long, where no statement is under way.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection with what drives it.
#[derive(Debug)]
pub(super) struct MySqlConnection {
    pub session: Session,
    pub runtime: Runtime,
}

/// A connection, and how long keys may be in the tables that it has seen.
#[derive(Debug)]
pub(super) struct Session {
    pub connection: Conn,
    pub limits: Vec<(Arc<Table>, Vec<KeyLimit>)>,
    /// Names of locks that are held until the batch is done.
    pub locks: Vec<String>,
}

impl From<Error> for AttemptError {
    /// What the server or the driver says, without the statement and without values.
    fn from(error: Error) -> Self {
        let Error::Server(server) = &error else {
            return Self::Unreachable(stdx::Chain(&error).to_string());
        };
        let reason = format!("{} ({})", server.message, server.code);
        match (server.code, server.state.get(..2)) {
            // Deadlock; the snapshot is too old.
            (1213 | 1020, _) => Self::Retry(reason),
            // No default, not a value of that type, row too large.
            (1364 | 1366 | 1118, _) => Self::Refused(reason),
            // Feature, cardinality, data, constraint, authorisation, catalogue, access.
            (_, Some("0A" | "21" | "22" | "23" | "28" | "3D" | "42")) => Self::Refused(reason),
            _ => Self::Unreachable(reason),
        }
    }
}

/// Connects within the time that the address allows.
pub(super) fn connect(address: &ServerAddress) -> Result<MySqlConnection, AttemptError> {
    let runtime = runtime::runtime()?;
    // Read here, so that a file that is missing is named.
    crate::tls::config(address)
        .map_err(|error| AttemptError::Refused(stdx::Chain(&error).to_string()))?;
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
    Ok(MySqlConnection {
        session: Session { connection, limits: Vec::new(), locks: Vec::new() },
        runtime,
    })
}

fn options(address: &ServerAddress, encrypted: Option<SslOpts>) -> OptsBuilder {
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

fn encrypted(address: &ServerAddress) -> Option<SslOpts> {
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
