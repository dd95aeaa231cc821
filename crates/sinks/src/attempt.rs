//! Tells why a piece of work on a server was not done, and turns that into the pipeline's error.
//!
//! `Refused` stays refused. `Unreachable` and `Retry` both become [`SinkError::Unreachable`], so
//! the caller reads the checkpoint again. `Final` is passed on as it is.
//! PostgreSQL, MySQL and ClickHouse call `into_sink_error`. MongoDB has an address of its own and
//! repeats these rules (`work` in `mongodb.rs`): both change together. Kafka (`kafka/client.rs`),
//! SQLite (`sqlite/error.rs`) and files make their errors without it.
//! Elsewhere: which of a server's errors is which (each engine's `From`, `clickhouse/http.rs`), and
//! who tries again after `Retry` (`mysql.rs`, `postgres.rs`).

use pipeline::SinkError;

use crate::address::ServerAddress;

/// Why a piece of work was not done.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The caller gets just this; the connection is in order.
    Final(SinkError),
    /// The server, or we, will say the same again.
    Refused(String),
    /// Nobody knows how it ended.
    Unreachable(String),
    /// The server rolled it back because of a deadlock or the like.
    Retry(String),
}

impl AttemptError {
    /// What the pipeline gets.
    pub(crate) fn into_sink_error(
        self,
        engine: &'static str,
        address: &ServerAddress,
    ) -> SinkError {
        let place = address.to_string();
        match self {
            Self::Final(error) => error,
            Self::Refused(reason) => SinkError::Refused { engine, place, reason },
            Self::Unreachable(reason) | Self::Retry(reason) => {
                SinkError::Unreachable { engine, place, reason }
            }
        }
    }
}
