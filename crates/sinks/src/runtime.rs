//! Makes the runtime that drives an asynchronous driver, and bounds how long its work may take.
//!
//! Work that takes longer than its limit is dropped, and is `Unreachable`: nobody knows how it
//! ended. Also here: how often a batch is tried when the server ended it for another's sake,
//! [`TRIES`]; `mongodb/apply.rs` uses it, too.
//! One runtime belongs to one connection and runs on the calling thread.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::attempt::AttemptError;

/// How often a batch is tried at once when the server ended it for another's sake.
pub(crate) const TRIES: u32 = 5;

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
