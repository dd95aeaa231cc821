//! Sends one core's requests to servers: it chooses a server and a connection, and retries.
//!
//! Invariants: a request that failed on a kept connection is repeated on a new one only if no byte
//! of a response came. It must also be idempotent, or unsent (RFC 9112 §9.3.1; `workers` has the
//! same rule). Only an idempotent request is retried, once, within the retry budget: after 502 to
//! 504, a timeout, or a refused or lost connection. A retry never begins past the deadline. It goes
//! to another healthy server if there is one, else to the same. Only healthy servers are chosen;
//! without one the request fails at once. One in `trouble` is chosen only where no other is left.
//! `consistent-hash` hashes the cache key. Requests without a key all go to one server. Another
//! hash moves every key. The list of servers may change between two requests. A server that stays
//! keeps its connections; those of one that went are closed when idle. Where one address of a name
//! refuses the connection, up to `OTHERS_MAX` others are tried. Nothing was sent then, and at an
//! address of `localhost` there may be nobody. Requests for an upgrade (`send_alone`) have a new
//! connection and no retry. Never here: health (`health`), the budget (`budget`), workers
//! (`workers`).

use std::cell::{Cell, RefCell};
use std::hash::BuildHasher;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http1::response::Head;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::budget::RetryBudget;
use super::connection::UpstreamConnection;
use super::connections::{KeptConnections, Lent, Permit, Purpose};
use super::dispatch::Dispatch;
use super::passive::Asked;
use super::response::Response;
use super::server::{ServerList, TunnelPlace, Upstream, UpstreamServer};
use super::stream::UpstreamStream;
use crate::error::FetchError;
use crate::plan::Balance;

/// Other addresses of a name that are tried when one refuses the connection.
const OTHERS_MAX: usize = 2;

/// One core's connections to the servers of an upstream.
#[derive(Debug)]
pub(super) struct Servers {
    upstream: Arc<Upstream>,
    /// Tells when the list of servers has changed.
    changes: RefCell<watch::Receiver<ServerList>>,
    /// The servers, as this core last saw them.
    members: RefCell<Rc<[Rc<Member>]>>,
    turn: Cell<usize>,
}

/// A server, with this core's connections to it.
#[derive(Debug)]
struct Member {
    server: Arc<UpstreamServer>,
    connections: Rc<KeptConnections>,
}

impl Servers {
    /// Returns the servers without connections.
    pub(super) fn new(upstream: Arc<Upstream>) -> Self {
        let mut changes = upstream.servers.subscribe();
        changes.mark_changed();
        let (changes, members) = (RefCell::new(changes), RefCell::default());
        Self { changes, members, turn: Cell::new(0), upstream }
    }

    /// Returns the servers of now. Without a change this costs one atomic load.
    fn members(&self) -> Rc<[Rc<Member>]> {
        let mut changes = self.changes.borrow_mut();
        if changes.has_changed().unwrap_or(false) {
            let before = self.members.take();
            let member = |server: &Arc<UpstreamServer>| {
                let known = before.iter().find(|member| Arc::ptr_eq(&member.server, server));
                known.cloned().unwrap_or_else(|| {
                    let connections = KeptConnections::new(&self.upstream.plan);
                    Rc::new(Member { server: Arc::clone(server), connections })
                })
            };
            self.members.replace(changes.borrow_and_update().iter().map(member).collect());
        }
        Rc::clone(&self.members.borrow())
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
            let server = self.choose(dispatch, tried.as_ref());
            let server = server.ok_or(FetchError::Unhealthy)?;
            let mut outcome = self.try_at(&server, dispatch).await;
            for other in self.others(&server, outcome.as_ref().err()) {
                if matches!(outcome, Err(FetchError::Connect)) {
                    outcome = self.try_at(&other, dispatch).await;
                }
            }
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
            // The answer that another one replaces has ended well, where all of it is here.
            drop(outcome.map(|mut response| response.body.take_whole()));
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
        let server = self.choose(dispatch, None).ok_or(FetchError::Unhealthy)?;
        let place = TunnelPlace::take(&self.upstream).ok_or(FetchError::Busy)?;
        let permit = server.connections.permit(Purpose::Tunnel(place), dispatch)?;
        let (mut asked, mut connected) = (Rc::clone(&server), self.connect(&server).await);
        for other in self.others(&server, connected.as_ref().err()) {
            if matches!(connected, Err(FetchError::Connect)) {
                (asked, connected) = (Rc::clone(&other), self.connect(&other).await);
            }
        }
        let head = match &mut connected {
            Ok(connection) => self.ask(connection, dispatch).await,
            Err(error) => Err(*error),
        };
        self.note_failure(&asked, dispatch, head.as_ref().err());
        let lent = self.lent(&asked, connected?, permit);
        Ok((head?, lent))
    }

    /// Chooses a healthy server, if possible another than `tried`.
    fn choose(&self, dispatch: Dispatch<'_, '_>, tried: Option<&Rc<Member>>) -> Option<Rc<Member>> {
        let key = dispatch.key;
        let servers = &*self.members();
        let healthy = |index: &usize| servers[*index].server.health.is_healthy();
        let is_tried = |index: usize| tried.is_some_and(|tried| Rc::ptr_eq(tried, &servers[index]));
        // The last one is asked, whatever becomes of it.
        let is_out = |index: usize| servers[index].server.trouble.is_out();
        let others = (0..servers.len()).filter(healthy).filter(|index| !is_tried(*index));
        let chosen = match self.upstream.plan.balance {
            Balance::ConsistentHash => {
                others.max_by_key(|index| (!is_out(*index), rendezvous(&servers[*index], key)))
            }
            Balance::LeastLoaded => {
                let turn = self.turn.get();
                // A retry takes no turn; otherwise every request could begin at the failing server.
                self.turn.set(turn.wrapping_add(usize::from(tried.is_none())));
                let place =
                    |index: usize| (index + servers.len() - turn % servers.len()) % servers.len();
                let load = |index: &usize| {
                    let connections = &servers[*index].connections;
                    let is_full = connections.takes(dispatch).is_err();
                    (is_out(*index), is_full, connections.busy(), place(*index))
                };
                others.min_by_key(load)
            }
        };
        let chosen = chosen.map(|index| &servers[index]);
        chosen.or(tried.filter(|tried| tried.server.health.is_healthy())).cloned()
    }

    /// Returns other addresses of the same name to try if the connection was refused.
    fn others(&self, refused: &Rc<Member>, error: Option<&FetchError>) -> Vec<Rc<Member>> {
        if error != Some(&FetchError::Connect) {
            return Vec::new();
        }
        let members = self.members();
        let at = members.iter().position(|member| Rc::ptr_eq(member, refused)).unwrap_or(0);
        let in_turn = members.iter().cycle().skip(at).take(members.len());
        let others = in_turn.filter(|other| {
            let is_same_name = other.server.place == refused.server.place;
            is_same_name && other.server.health.is_healthy() && !Rc::ptr_eq(other, refused)
        });
        others.take(OTHERS_MAX).cloned().collect()
    }

    /// Sends to one server. It notes the failure of a request without a head; with one, `Lent` says
    /// what becomes of it.
    async fn try_at(
        &self,
        server: &Member,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<Response, FetchError> {
        let sent = self.send_to(server, dispatch).await;
        self.note_failure(server, dispatch, sent.as_ref().err());
        let (head, lent) = sent?;
        self.response(dispatch, head, lent).await
    }

    /// Notes the failure of a request that got no head.
    fn note_failure(
        &self,
        server: &Member,
        dispatch: Dispatch<'_, '_>,
        error: Option<&FetchError>,
    ) {
        // A request whose own time was over says nothing of the server.
        let is_over = dispatch.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if let Some(error) = error.filter(|error| !(is_over && **error == FetchError::Timeout)) {
            self.upstream.note_outcome(&server.server, Some(*error));
        }
    }

    /// Sends to one server, and reads the head of its response. A kept connection that turns out to
    /// be closed is replaced by a new one, which does not count as a retry.
    async fn send_to(
        &self,
        server: &Member,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<(Head, Lent), FetchError> {
        let purpose = if dispatch.upload.is_some() { Purpose::Upload } else { Purpose::Request };
        let permit = server.connections.permit(purpose, dispatch)?;
        // An upload cannot be repeated, so it does not risk a connection that may be closed.
        let kept = match dispatch.upload {
            None => permit.connections().take_kept(Instant::now(), dispatch.request),
            Some(_) => None,
        };
        if let Some(mut connection) = kept {
            let head = self.ask(&mut connection, dispatch).await;
            // The server may have closed it while the request was under way.
            let may_repeat = dispatch.request.is_idempotent() || connection.sent() == 0;
            let is_lost = head.as_ref().is_err_and(|error| *error == FetchError::Closed);
            if is_lost {
                permit.connections().server_closed(Instant::now(), Duration::ZERO);
            }
            if !(is_lost && may_repeat && !connection.has_heard()) {
                return Ok((head?, self.lent(server, connection, permit)));
            }
        }
        let mut connection = self.connect(server).await?;
        let head = self.ask(&mut connection, dispatch).await?;
        Ok((head, self.lent(server, connection, permit)))
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
        lent: Lent,
    ) -> Result<Response, FetchError> {
        let mut response = Response::to(dispatch, head, lent, self.upstream.plan.piece_timeout)?;
        // A server that refuses the request needs no more of it.
        if let Some(upload) = dispatch.upload.filter(|_| response.status < 400) {
            upload.accept();
            response.body.finish_upload(dispatch, upload).await?;
        }
        Ok(response)
    }

    fn lent(&self, server: &Member, connection: UpstreamConnection, permit: Permit) -> Lent {
        let asked = Some(Asked::new(&self.upstream, &server.server));
        Lent { connection, permit, asked, reusable: false, uploading: false }
    }

    async fn connect(&self, server: &Member) -> Result<UpstreamConnection, FetchError> {
        let connect = TcpStream::connect(server.server.address);
        let connect = timeout(self.upstream.plan.connect_timeout, connect);
        let stream = match connect.await {
            Err(_) => {
                self.upstream.note_unreachable(&server.server, &ErrorKind::TimedOut.into());
                return Err(FetchError::Timeout);
            }
            Ok(Err(error)) => {
                self.upstream.note_unreachable(&server.server, &error);
                return Err(FetchError::Connect);
            }
            Ok(Ok(stream)) => stream,
        };
        self.upstream.note_reached(&server.server);
        // A request is written whole, so Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        Ok(UpstreamConnection::new(UpstreamStream::Tcp(stream)))
    }
}

/// Returns the weight of a server for a key: highest random weight (Thaler and Ravishankar, 1998).
fn rendezvous(member: &Member, key: &[u8]) -> u64 {
    let state = foldhash::fast::FixedState::with_seed(0x7464);
    state.hash_one((member.server.address, key))
}
