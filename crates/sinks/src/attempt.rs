//! Why a piece of work on a server was not done, and how long it may take.

use std::future::Future;
use std::time::Duration;

use pipeline::SinkError;
use tokio::runtime::Runtime;

use crate::address::ServerAddress;

/// How often a batch is tried at once when the server ended it for another's sake.
pub(crate) const TRIES: u32 = 5;

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

/// A runtime for one connection. Dropping it closes the socket.
pub(crate) fn runtime() -> Result<Runtime, AttemptError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| AttemptError::Unreachable(format!("start a runtime: {error}")))
}

/// Gives up on `work` after `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, AttemptError>>,
) -> Result<T, AttemptError> {
    let late = || AttemptError::Unreachable(format!("no answer within {limit:?}"));
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}
