//! Counts one core's connections to one server or worker, and keeps idle ones for reuse.
//!
//! Invariants: a connection carries one request at a time. It is kept only if its last response was
//! read to its end and no byte follows (RFC 9112 §6.3, §9.2). `response` says whether it is
//! reusable. A kept connection is watched. It is closed when the server closes it or sends a byte,
//! and after `idle_timeout`. A request that cannot be repeated gets a new connection where the
//! server may be closing the kept one. Bound: `connections_max` in use; one more is refused as
//! `Busy`. Uploads get half of these, and tunnels do not count (`server`). Of both, one client
//! gets its share; one more is refused as `ClientShare`. A connection is kept only if it fits that
//! bound with those in use. Workers have no bound here. `Lent` ends the loan of a worker: as done,
//! as lost, or after a timeout without a verdict. It also notes at a server what became of the
//! request. A request is good once the body of its response was read to its end. Of a body that is
//! dropped nothing is noted. Never here: which server is asked (`servers`), connecting.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use chassis::{ClientCounts, ClientId};
use tokio::time::{Instant, sleep_until};

use super::connection::UpstreamConnection;
use super::dispatch::Dispatch;
use super::passive::Asked;
use super::render::UpstreamRequest;
use super::server::TunnelPlace;
use crate::error::FetchError;
use crate::plan::UpstreamPlan;
use crate::ports::Loan;

/// How long a connection may have been idle for a request that cannot be repeated. Servers close
/// idle ones after 2 s (gunicorn), 5 s (Node, uvicorn) or more.
const UNREPEATABLE_IDLE_MAX: Duration = Duration::from_secs(1);
/// How long a server counts as hasty after it closed a connection sooner than that.
const HASTY_FOR: Duration = Duration::from_secs(60);

/// One core's connections to one server, or one worker.
#[derive(Debug)]
pub(super) struct KeptConnections {
    /// Kept connections, each with the time of its last use, in that order.
    kept: RefCell<VecDeque<(Instant, UpstreamConnection)>>,
    /// Requests under way, and how many are of each client.
    busy: Cell<usize>,
    busy_of: ClientCounts,
    /// Those of them whose clients are still sending.
    uploads: Cell<usize>,
    uploads_of: ClientCounts,
    /// Wakes the task that watches the kept connections, if it runs.
    watcher: RefCell<Option<Waker>>,
    /// When the server no longer counts as hasty: it closes connections just after it used them.
    hasty_end: Cell<Option<Instant>>,
    idle_timeout: Duration,
    connections_max: usize,
}

/// The right to use one connection to a server, or to a worker on loan.
#[derive(Debug)]
pub(super) struct Permit {
    connections: Rc<KeptConnections>,
    purpose: Purpose,
    client: ClientId,
    pub(super) loan: Option<Box<dyn Loan>>,
}

/// What a connection is used for; each has a bound of its own.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A request that is sent as fast as the server takes it.
    Request,
    /// A request whose client is still sending its body.
    Upload,
    /// An offer to change the protocol, and then the tunnel.
    Tunnel(#[expect(dead_code, reason = "it is free again when it is dropped")] TunnelPlace),
}

/// A connection in use.
#[derive(Debug)]
pub(super) struct Lent {
    /// The connection.
    pub connection: UpstreamConnection,
    /// The right to use it.
    pub permit: Permit,
    /// The server that sent the head; none for a worker.
    pub(super) asked: Option<Asked>,
    /// Whether the connection may carry another request.
    pub(super) reusable: bool,
    /// Whether the request is still being sent, so that the connection stays after the response.
    pub(super) uploading: bool,
}

impl Permit {
    pub(super) fn new(
        connections: &Rc<KeptConnections>,
        purpose: Purpose,
        client: ClientId,
        loan: Option<Box<dyn Loan>>,
    ) -> Self {
        connections.begin(&purpose, client);
        Self { connections: Rc::clone(connections), purpose, client, loan }
    }

    /// Returns the connections to the same server or worker.
    pub(super) fn connections(&self) -> &KeptConnections {
        &self.connections
    }
}

impl KeptConnections {
    /// Returns an empty set of connections.
    pub(super) fn new(plan: &UpstreamPlan) -> Rc<Self> {
        Rc::new(Self {
            kept: RefCell::default(),
            busy: Cell::new(0),
            busy_of: ClientCounts::default(),
            uploads: Cell::new(0),
            uploads_of: ClientCounts::default(),
            watcher: RefCell::default(),
            hasty_end: Cell::new(None),
            idle_timeout: plan.idle_timeout,
            connections_max: plan.connections_max,
        })
    }

    /// Returns the number of requests under way.
    pub(super) fn busy(&self) -> usize {
        self.busy.get()
    }

    /// Returns the right to use one more connection, unless too many are in use, over all clients
    /// or for this one.
    pub(super) fn permit(
        self: &Rc<Self>,
        purpose: Purpose,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<Permit, FetchError> {
        let is_upload = matches!(purpose, Purpose::Upload);
        if !matches!(purpose, Purpose::Tunnel(_)) {
            self.takes(dispatch)?;
        }
        let permit = Permit::new(self, purpose, dispatch.client.1, None);
        // An upload makes a connection of its own, so a kept one may have to go.
        let mut kept = self.kept.borrow_mut();
        while is_upload && kept.len() + self.busy() > self.connections_max {
            if kept.pop_front().is_none() {
                break;
            }
        }
        drop(kept);
        Ok(permit)
    }

    /// Whether there is a connection for one more request. Uploads get half of these.
    ///
    /// # Errors
    /// When there is none, or the client has its share.
    pub(super) fn takes(&self, dispatch: Dispatch<'_, '_>) -> Result<(), FetchError> {
        let is_upload = dispatch.upload.is_some();
        let (max, uploads_max) = (self.connections_max, self.connections_max.div_ceil(2));
        if self.busy() >= max || (is_upload && self.uploads.get() >= uploads_max) {
            return Err(FetchError::Busy);
        }
        let (clients, client) = dispatch.client;
        let is_at_share = self.busy_of.of(client) >= clients.share_of(max)
            || (is_upload && self.uploads_of.of(client) >= clients.share_of(uploads_max));
        if is_at_share { Err(FetchError::ClientShare) } else { Ok(()) }
    }

    fn begin(&self, purpose: &Purpose, client: ClientId) {
        if matches!(purpose, Purpose::Request | Purpose::Upload) {
            self.busy.set(self.busy.get() + 1);
            self.busy_of.add(client);
        }
        if matches!(purpose, Purpose::Upload) {
            self.uploads.set(self.uploads.get() + 1);
            self.uploads_of.add(client);
        }
    }

    fn end(&self, purpose: &Purpose, client: ClientId) {
        if matches!(purpose, Purpose::Request | Purpose::Upload) {
            self.busy.set(self.busy.get() - 1);
            self.busy_of.remove(client);
        }
        if matches!(purpose, Purpose::Upload) {
            self.uploads.set(self.uploads.get() - 1);
            self.uploads_of.remove(client);
        }
    }

    /// Takes the kept connection that was used last and can be reused.
    ///
    /// The server may be closing one that has been idle for longer, and a hasty server any. A
    /// request that cannot be repeated does not risk that.
    pub(super) fn take_kept(
        &self,
        now: Instant,
        request: &UpstreamRequest,
    ) -> Option<UpstreamConnection> {
        let mut kept = self.kept.borrow_mut();
        loop {
            let idle = now.duration_since(kept.back()?.0);
            if !request.is_idempotent() && (self.is_hasty(now) || idle > UNREPEATABLE_IDLE_MAX) {
                return None;
            }
            let (_, connection) = kept.pop_back()?;
            if !connection.is_quiet() {
                self.server_closed(now, idle);
            } else if idle < self.idle_timeout {
                return Some(connection);
            }
        }
    }

    fn is_hasty(&self, now: Instant) -> bool {
        self.hasty_end.get().is_some_and(|end| now < end)
    }

    /// Notes that the server closed a connection that had been idle for so long.
    pub(super) fn server_closed(&self, now: Instant, idle: Duration) {
        if idle <= UNREPEATABLE_IDLE_MAX {
            self.hasty_end.set(Some(now + HASTY_FOR));
        }
    }

    /// Whether no connection is in use or kept.
    pub(super) fn is_idle(&self) -> bool {
        self.busy() == 0 && self.kept.borrow().is_empty()
    }

    /// Keeps a connection, and watches it.
    fn keep(self: &Rc<Self>, mut connection: UpstreamConnection) {
        connection.rest();
        let mut watcher = self.watcher.borrow_mut();
        let waker = watcher.get_or_insert_with(|| {
            tokio::task::spawn_local(watch(Rc::downgrade(self)));
            Waker::noop().clone()
        });
        let is_quiet = connection.poll_quiet(&mut Context::from_waker(waker));
        let now = Instant::now();
        if !is_quiet {
            self.server_closed(now, Duration::ZERO);
            return;
        }
        let mut kept = self.kept.borrow_mut();
        if kept.len() + self.busy() < self.connections_max {
            kept.push_back((now, connection));
        }
    }

    /// Drops the connections that are closed or too old. Returns the time of the next sweep if any
    /// is left.
    fn sweep(&self, cx: &mut Context<'_>) -> Option<Instant> {
        let mut kept = self.kept.borrow_mut();
        let now = Instant::now();
        kept.retain(|(since, connection)| {
            let idle = now.duration_since(*since);
            let is_quiet = connection.poll_quiet(cx);
            if !is_quiet {
                self.server_closed(now, idle);
            }
            is_quiet && idle < self.idle_timeout
        });
        kept.front().map(|(since, _)| *since + self.idle_timeout)
    }
}

/// Watches the kept connections of a server as long as there are any.
async fn watch(connections: Weak<KeptConnections>) {
    let mut timer = pin!(sleep_until(Instant::now()));
    poll_fn(|cx| {
        let Some(connections) = connections.upgrade() else { return Poll::Ready(()) };
        loop {
            let Some(next) = connections.sweep(cx) else {
                *connections.watcher.borrow_mut() = None;
                return Poll::Ready(());
            };
            connections.watcher.replace(Some(cx.waker().clone()));
            timer.as_mut().reset(next);
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await;
}

impl Lent {
    /// Gives a connection back after its response was read to its end.
    pub(super) fn give_back(self) {
        let Self { mut connection, mut permit, reusable, asked, .. } = self;
        asked.into_iter().for_each(|asked| asked.ended(None));
        let connections = Rc::clone(&permit.connections);
        if let Some(loan) = permit.loan.take() {
            loan.done();
        }
        drop(permit);
        // Bytes behind the response could be taken for the next one.
        if reusable && connection.inbox().is_empty() {
            connections.keep(connection);
        }
    }

    /// Closes a connection in the middle of a response, by the fault of the server or worker. A
    /// worker that was silent for too long has timed out.
    pub(super) fn give_up(mut self, error: FetchError) {
        self.asked.take().into_iter().for_each(|asked| asked.ended(Some(error)));
        match (self.permit.loan.take(), error) {
            (Some(loan), FetchError::Timeout) => loan.timed_out(),
            (Some(loan), _) => loan.lost(),
            (None, _) => {}
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.connections.end(&self.purpose, self.client);
    }
}
