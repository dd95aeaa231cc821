//! Sends one core's requests to servers: it chooses a server and a connection, and retries.
//!
//! Invariants: a request that failed on a kept connection is repeated on a new one only if no byte
//! of a response came. It must also be idempotent, or unsent (RFC 9112 §9.3.1; `workers` has the
//! same rule). Only an idempotent request is retried, once, within the retry budget: after 502 to
//! 504, a timeout, or a refused or lost connection. A retry never begins past the deadline. It goes
//! to another healthy server if there is one, else to the same. Only healthy servers are chosen;
//! without one the request fails at once. `consistent-hash` hashes the cache key. Requests without
//! a key all go to one server. Another hash moves every key. Requests for an upgrade (`send_alone`)
//! have a new connection and no retry. Never here: health (`health`), the budget (`budget`),
//! workers (`workers`).

use std::cell::Cell;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use http1::response::Head;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::budget::RetryBudget;
use super::connection::UpstreamConnection;
use super::connections::{KeptConnections, Lent, Permit, Purpose};
use super::dispatch::Dispatch;
use super::response::Response;
use super::server::{TunnelPlace, Upstream, UpstreamServer};
use super::stream::UpstreamStream;
use crate::error::FetchError;
use crate::plan::Balance;

/// One core's connections to the servers of an upstream.
#[derive(Debug)]
pub(super) struct Servers {
    upstream: Arc<Upstream>,
    /// Connections by server.
    connections: Vec<Rc<KeptConnections>>,
    turn: Cell<usize>,
}

impl Servers {
    /// Returns the servers without connections.
    pub(super) fn new(upstream: Arc<Upstream>) -> Self {
        let connections = |_: &UpstreamServer| KeptConnections::new(&upstream.plan);
        let connections = upstream.servers.iter().map(connections).collect();
        Self { connections, turn: Cell::new(0), upstream }
    }

    /// Sends a request and returns its response; retries an idempotent one within the budget.
    ///
    /// # Errors
    /// When no server gave a response; the error of the last attempt.
    pub(super) async fn send(&self, dispatch: Dispatch<'_, '_>) -> Result<Response, FetchError> {
        if let Some(budget) = &self.upstream.retry {
            budget.note_request();
        }
        let mut tried = None;
        loop {
            let server = self.choose(dispatch.key, tried).ok_or(FetchError::Unhealthy)?;
            let outcome = self.send_to(server, dispatch).await;
            let is_worth_it = match &outcome {
                Ok(response) => matches!(response.status, 502..=504),
                Err(error) => error.is_worth_a_retry(),
            };
            let may_repeat = is_worth_it
                && dispatch.is_repeatable()
                && tried.is_none()
                && dispatch.deadline.is_none_or(|deadline| Instant::now() < deadline);
            if !may_repeat || !self.upstream.retry.as_ref().is_some_and(RetryBudget::take) {
                return outcome;
            }
            tried = Some(server);
        }
    }

    /// Sends to one server on a new connection, and returns that with the head of the response.
    ///
    /// # Errors
    /// When the server gives no response.
    pub(super) async fn send_alone(
        &self,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<(Head, Lent), FetchError> {
        let server = self.choose(dispatch.key, None).ok_or(FetchError::Unhealthy)?;
        let place = TunnelPlace::take(&self.upstream).ok_or(FetchError::Busy)?;
        let permit = self.connections[server].permit(Purpose::Tunnel(place))?;
        let mut connection = self.connect(server).await?;
        let head = self.ask(&mut connection, dispatch).await?;
        Ok((head, Lent { connection, permit, reusable: false }))
    }

    /// Chooses a healthy server, if possible another than `tried`.
    fn choose(&self, key: &[u8], tried: Option<usize>) -> Option<usize> {
        let servers = &self.upstream.servers;
        let healthy = |index: &usize| servers[*index].health.is_healthy();
        let others = (0..servers.len()).filter(healthy).filter(|index| Some(*index) != tried);
        let chosen = match self.upstream.plan.balance {
            Balance::ConsistentHash => others.max_by_key(|index| rendezvous(servers, *index, key)),
            Balance::LeastLoaded => {
                let turn = self.turn.get();
                // A retry takes no turn; otherwise every request could begin at the failing server.
                self.turn.set(turn.wrapping_add(usize::from(tried.is_none())));
                let place =
                    |index: usize| (index + servers.len() - turn % servers.len()) % servers.len();
                others.min_by_key(|index| (self.connections[*index].busy(), place(*index)))
            }
        };
        chosen.or_else(|| tried.filter(healthy))
    }

    /// Sends to one server. A kept connection that turns out to be closed is replaced by a new one,
    /// which does not count as a retry.
    async fn send_to(
        &self,
        server: usize,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<Response, FetchError> {
        let purpose = if dispatch.upload.is_some() { Purpose::Upload } else { Purpose::Request };
        let permit = self.connections[server].permit(purpose)?;
        // An upload cannot be repeated, so it does not risk a connection that may be closed.
        let kept = match dispatch.upload {
            None => permit.connections().take_kept(Instant::now()),
            Some(_) => None,
        };
        if let Some(mut connection) = kept {
            let head = self.ask(&mut connection, dispatch).await;
            // The server may have closed it while the request was under way.
            let may_repeat = dispatch.request.is_idempotent() || connection.sent() == 0;
            let is_lost = head.as_ref().is_err_and(|error| *error == FetchError::Closed);
            if !(is_lost && may_repeat && !connection.has_heard()) {
                return self.response(dispatch, head?, connection, permit).await;
            }
        }
        let mut connection = self.connect(server).await?;
        let head = self.ask(&mut connection, dispatch).await?;
        self.response(dispatch, head, connection, permit).await
    }

    async fn ask(
        &self,
        connection: &mut UpstreamConnection,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<Head, FetchError> {
        connection.ask(dispatch, self.upstream.plan.answer_timeout).await
    }

    async fn response(
        &self,
        dispatch: Dispatch<'_, '_>,
        head: Head,
        connection: UpstreamConnection,
        permit: Permit,
    ) -> Result<Response, FetchError> {
        let lent = Lent { connection, permit, reusable: false };
        let mut response = Response::to(dispatch, head, lent, self.upstream.plan.piece_timeout)?;
        // A server that refuses the request needs no more of it.
        if let Some(upload) = dispatch.upload.filter(|_| response.status < 400) {
            response.body.finish_upload(upload).await?;
        }
        Ok(response)
    }

    async fn connect(&self, server: usize) -> Result<UpstreamConnection, FetchError> {
        let address = self.upstream.servers[server].address;
        let connect = timeout(self.upstream.plan.connect_timeout, TcpStream::connect(address));
        let stream = match connect.await {
            Err(_) => return Err(FetchError::Timeout),
            Ok(stream) => stream.map_err(|_| FetchError::Connect)?,
        };
        // A request is written whole, so Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        Ok(UpstreamConnection::new(UpstreamStream::Tcp(stream)))
    }
}

/// Returns the weight of a server for a key: highest random weight (Thaler and Ravishankar, 1998).
fn rendezvous(servers: &[UpstreamServer], index: usize, key: &[u8]) -> u64 {
    let state = foldhash::fast::FixedState::with_seed(0x7464);
    state.hash_one((servers[index].address, key))
}
