//! Why a piece of work on a server was not done, and how long it may take.

use std::future::Future;
use std::time::Duration;

use pipeline::SinkError;
use tokio::runtime::Runtime;

use crate::address::Address;

/// How often a batch is tried at once when the server ended it for another's sake.
pub(crate) const TRIES: u32 = 5;

/// Why a piece of work was not done.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The caller is told just this; the connection is in order.
    Told(SinkError),
    /// The server, or we, will say the same again.
    Refused(String),
    /// Nobody knows how it ended.
    Unreachable(String),
    /// The server rolled it back because of a deadlock or the like.
    Again(String),
}

impl Trouble {
    /// What the pipeline is told.
    pub(crate) fn told(self, engine: &'static str, address: &Address) -> SinkError {
        let place = address.to_string();
        match self {
            Self::Told(error) => error,
            Self::Refused(cause) => SinkError::Refused { engine, place, cause },
            Self::Unreachable(cause) | Self::Again(cause) => {
                SinkError::Unreachable { engine, place, cause }
            }
        }
    }
}

/// A runtime for one connection. Dropping it closes the socket.
pub(crate) fn runtime() -> Result<Runtime, Trouble> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Trouble::Unreachable(format!("start a runtime: {error}")))
}

/// Gives up on `work` after `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let late = || Trouble::Unreachable(format!("no answer within {limit:?}"));
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}
