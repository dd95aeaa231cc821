//! One core's way to an upstream, be it servers or workers.

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
    /// No connections yet.
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        let to = match upstream.workers.clone() {
            Some(workers) => To::Workers(WorkerConnections::new(workers, Arc::clone(&upstream))),
            None => To::Servers(Servers::new(Arc::clone(&upstream))),
        };
        Self { upstream, to }
    }

    /// The upstream.
    pub(crate) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Sends a request and returns its response, whose body is still to be read.
    ///
    /// # Errors
    /// When nobody answered; the error of the last attempt.
    pub(crate) async fn send(&self, dispatch: Dispatch<'_>) -> Result<Response, FetchError> {
        match &self.to {
            To::Servers(servers) => servers.send(dispatch).await,
            To::Workers(workers) => workers.send(dispatch).await,
        }
    }

    /// Sends on a connection of its own, and returns it with the response's head.
    ///
    /// # Errors
    /// When nobody answered.
    pub(super) async fn send_alone(
        &self,
        dispatch: Dispatch<'_>,
    ) -> Result<(Head, Lent), FetchError> {
        match &self.to {
            To::Servers(servers) => servers.send_alone(dispatch).await,
            To::Workers(workers) => workers.send_alone(dispatch).await,
        }
    }
}
