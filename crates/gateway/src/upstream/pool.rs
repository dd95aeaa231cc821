//! Sends one core's requests to an upstream, whether servers or workers answer for it.
//!
//! Invariant: it only passes a request on to `servers` or `workers`, by what the upstream has.
//! `switch` adds upgrades to it. Never here: choice, retries and connections of either.

use std::sync::Arc;

use http1::response::Head;

use super::connections::Lent;
use super::dispatch::Dispatch;
use super::response::Response;
use super::server::Upstream;
use super::servers::Servers;
use super::workers::WorkerConnections;
use crate::error::FetchError;

/// One core's connections to an upstream.
#[derive(Debug)]
pub(crate) struct UpstreamPool {
    upstream: Arc<Upstream>,
    to: To,
}

#[derive(Debug)]
enum To {
    Servers(Servers),
    Workers(WorkerConnections),
}

impl UpstreamPool {
    /// Returns a pool without connections.
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        let to = match upstream.workers.clone() {
            Some(workers) => To::Workers(WorkerConnections::new(workers, Arc::clone(&upstream))),
            None => To::Servers(Servers::new(Arc::clone(&upstream))),
        };
        Self { upstream, to }
    }

    /// Returns the upstream.
    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Sends a request and returns its response, whose body is not read yet.
    ///
    /// # Errors
    /// When there is no response; the error of the last attempt.
    pub(crate) async fn send(&self, dispatch: Dispatch<'_, '_>) -> Result<Response, FetchError> {
        let sent = match &self.to {
            To::Servers(servers) => servers.send(dispatch).await,
            To::Workers(workers) => workers.send(dispatch).await,
        };
        if let Ok(response) = &sent {
            self.upstream.note_status(response.status);
        }
        sent
    }

    /// Sends a request on a new connection, and returns that with the head of the response.
    ///
    /// # Errors
    /// When there is no response.
    pub(super) async fn send_alone(
        &self,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<(Head, Lent), FetchError> {
        match &self.to {
            To::Servers(servers) => servers.send_alone(dispatch).await,
            To::Workers(workers) => workers.send_alone(dispatch).await,
        }
    }
}
