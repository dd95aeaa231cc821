//! One core's connections to an upstream: which server is asked, on which connection, how often.
//!
//! Invariants: a connection carries one request at a time, and is kept only when its last answer is
//! read to its end and nothing stands behind that (RFC 9112 §6.3, §9.2); while it is kept it is
//! watched, and dropped when its server ends it, speaks unasked, or nobody used it for
//! `idle_timeout`. A request goes out again only when nothing was heard of its answer, and it
//! changes nothing or nothing of it was sent (RFC 9112 §9.3.1); then on a connection of its own.
//! Bound: `connections_max` a server, in use and kept together.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::hash::BuildHasher;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{Connection, Patience};
use super::stream::Stream;
use super::workers::Staff;
use super::{Balance, FetchError, Request, Response, RetryBudget, Server, Upstream, UpstreamBody};
use crate::ports::Loan;
use crate::upstream::interim::News;
use http1::response::Head;

/// One core's connections to an upstream.
#[derive(Debug)]
pub struct Pool {
    upstream: Arc<Upstream>,
    lines: Vec<Rc<Line>>,
    turn: Cell<usize>,
    pub(super) staff: Option<Staff>,
}

/// One core's connections to one server, or one worker.
#[derive(Debug)]
pub(super) struct Line {
    /// Kept connections, each since when; the last used last.
    kept: RefCell<VecDeque<(Instant, Connection)>>,
    /// Requests under way.
    busy: Cell<usize>,
    /// Wakes the task that watches the kept ones, when there is one.
    watcher: RefCell<Option<Waker>>,
    idle_timeout: Duration,
    connections_max: usize,
}

/// One of a server's places, or a worker's with what lends it.
#[derive(Debug)]
pub struct Place {
    pub(super) line: Rc<Line>,
    pub(super) loan: Option<Box<dyn Loan>>,
}

/// A connection in use, with its place.
#[derive(Debug)]
pub struct Lent {
    /// The connection.
    pub connection: Connection,
    /// Its place.
    pub place: Place,
    /// The connection may carry another request.
    pub(super) reusable: bool,
}

impl Pool {
    /// No connections yet.
    pub fn new(upstream: Arc<Upstream>) -> Self {
        let line = |_: &Server| Rc::new(Line::new(upstream.idle_timeout, upstream.connections_max));
        let lines = upstream.servers.iter().map(line).collect();
        let staff = upstream.workers.clone().map(Staff::new);
        Self { upstream, lines, turn: Cell::new(0), staff }
    }

    /// The upstream.
    pub fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    /// Sends a request and returns the answer's head, by the time `end` when there is one; retries
    /// within the budget when the request changes nothing. `news` gets what comes ahead of it.
    ///
    /// # Errors
    /// When no server answered; the error of the last attempt.
    pub async fn send(
        &self,
        request: &Request,
        key: &[u8],
        news: &News,
        end: Option<Instant>,
    ) -> Result<Response, FetchError> {
        if let Some(staff) = &self.staff {
            return self.send_to_worker(staff, request, news, end).await;
        }
        if let Some(budget) = &self.upstream.retry {
            budget.note_request();
        }
        let mut tried = None;
        loop {
            let server = self.choose(key, tried).ok_or(FetchError::Unhealthy)?;
            let outcome = self.send_to(server, request, news, end).await;
            let worth = match &outcome {
                Ok(response) => matches!(response.status, 502..=504),
                Err(error) => error.is_worth_a_retry(),
            };
            let repeat = worth
                && request.is_idempotent()
                && tried.is_none()
                && end.is_none_or(|end| Instant::now() < end);
            if !repeat || !self.upstream.retry.as_ref().is_some_and(RetryBudget::take) {
                return outcome;
            }
            tried = Some(server);
        }
    }

    /// Sends to one server on a connection of its own, and returns it with the answer's head.
    ///
    /// # Errors
    /// When the server gives no answer.
    pub async fn send_alone(
        &self,
        request: &Request,
        key: &[u8],
        news: &News,
    ) -> Result<(Head, Lent), FetchError> {
        if let Some(staff) = &self.staff {
            return self.send_to_worker_alone(staff, request, news).await;
        }
        let server = self.choose(key, None).ok_or(FetchError::Unhealthy)?;
        let place = self.take_place(server)?;
        let mut connection = self.connect(server).await?;
        let head = connection.ask(request, news, (Instant::now(), self.patience(None))).await?;
        Ok((head, Lent { connection, place, reusable: false }))
    }

    /// The answer that a head begins, on the connection that brought it.
    pub fn response(&self, head: Head, lent: Lent, unsent: Bytes) -> Response {
        let limit = self.upstream.piece_timeout;
        let body = UpstreamBody::new(head.framing.length, lent, unsent, limit);
        Response { status: head.status, headers: head.fields, body }
    }

    /// Chooses a healthy server, another than `tried` when there is one.
    fn choose(&self, key: &[u8], tried: Option<usize>) -> Option<usize> {
        let servers = &self.upstream.servers;
        let healthy = |index: &usize| servers[*index].health.is_healthy();
        let others = (0..servers.len()).filter(healthy).filter(|index| Some(*index) != tried);
        let chosen = match self.upstream.balance {
            Balance::ConsistentHash => others.max_by_key(|index| rendezvous(servers, *index, key)),
            Balance::LeastLoaded => {
                let turn = self.turn.get();
                // A retry takes no turn, or every request would begin at the server that fails.
                self.turn.set(turn.wrapping_add(usize::from(tried.is_none())));
                let place =
                    |index: usize| (index + servers.len() - turn % servers.len()) % servers.len();
                others.min_by_key(|index| (self.lines[*index].busy.get(), place(*index)))
            }
        };
        chosen.or_else(|| tried.filter(healthy))
    }

    /// Sends to one server; a kept connection that turns out dead is replaced, at no cost.
    async fn send_to(
        &self,
        server: usize,
        request: &Request,
        news: &News,
        end: Option<Instant>,
    ) -> Result<Response, FetchError> {
        let place = self.take_place(server)?;
        let now = Instant::now();
        if let Some(mut connection) = place.line.take_kept(now) {
            let answer = connection.ask(request, news, (now, self.patience(end))).await;
            // The server may have closed it while the request was under way.
            let may_repeat = request.is_idempotent() || connection.sent() == 0;
            let is_lost = answer.as_ref().is_err_and(|error| *error == FetchError::Closed);
            if !(is_lost && may_repeat && !connection.has_heard()) {
                return self.answered(request, answer?, connection, place);
            }
        }
        let mut connection = self.connect(server).await?;
        let head = connection.ask(request, news, (Instant::now(), self.patience(end))).await?;
        self.answered(request, head, connection, place)
    }

    pub(super) fn answered(
        &self,
        request: &Request,
        head: Head,
        connection: Connection,
        place: Place,
    ) -> Result<Response, FetchError> {
        // Nobody asked for another protocol.
        if head.status == 101 {
            return Err(FetchError::Malformed);
        }
        let is_sent = connection.sent() == request.length();
        let unsent = request.unsent_body(connection.sent()).unwrap_or_default();
        let reusable = is_sent && head.framing.keeps;
        Ok(self.response(head, Lent { connection, place, reusable }, unsent))
    }

    pub(super) fn patience(&self, end: Option<Instant>) -> Patience {
        Patience { answer: self.upstream.answer_timeout, end }
    }

    fn take_place(&self, server: usize) -> Result<Place, FetchError> {
        let line = &self.lines[server];
        if line.busy.get() >= self.upstream.connections_max {
            return Err(FetchError::Busy);
        }
        Ok(Place::at(line, None))
    }

    async fn connect(&self, server: usize) -> Result<Connection, FetchError> {
        let address = self.upstream.servers[server].address;
        let connect = timeout(self.upstream.connect_timeout, TcpStream::connect(address));
        let stream = match connect.await {
            Err(_) => return Err(FetchError::Timeout),
            Ok(stream) => stream.map_err(|_| FetchError::Connect)?,
        };
        // Requests are whole writes; waiting for more (Nagle) would only delay them.
        let _ = stream.set_nodelay(true);
        Ok(Connection::new(Stream::Tcp(stream)))
    }
}

impl Place {
    pub(super) fn at(line: &Rc<Line>, loan: Option<Box<dyn Loan>>) -> Self {
        line.busy.set(line.busy.get() + 1);
        Self { line: Rc::clone(line), loan }
    }
}

impl Line {
    pub(super) fn new(idle_timeout: Duration, connections_max: usize) -> Self {
        let (kept, watcher) = (RefCell::default(), RefCell::default());
        Self { kept, busy: Cell::new(0), watcher, idle_timeout, connections_max }
    }

    /// The kept connection that was used last and is still good.
    pub(super) fn take_kept(&self, now: Instant) -> Option<Connection> {
        let mut kept = self.kept.borrow_mut();
        loop {
            let (since, connection) = kept.pop_back()?;
            if connection.is_quiet() && now.duration_since(since) < self.idle_timeout {
                return Some(connection);
            }
        }
    }

    /// Whether nobody uses it and nothing is kept.
    pub(super) fn is_idle(&self) -> bool {
        self.busy.get() == 0 && self.kept.borrow().is_empty()
    }

    /// Keeps a connection, and has it watched.
    fn keep(self: &Rc<Self>, mut connection: Connection) {
        connection.rest();
        let mut watcher = self.watcher.borrow_mut();
        let waker = watcher.get_or_insert_with(|| {
            tokio::task::spawn_local(watch(Rc::downgrade(self)));
            Waker::noop().clone()
        });
        let is_quiet = connection.poll_quiet(&mut Context::from_waker(waker));
        let mut kept = self.kept.borrow_mut();
        if is_quiet && kept.len() + self.busy.get() < self.connections_max {
            kept.push_back((Instant::now(), connection));
        }
    }

    /// Drops what is dead or too old; returns when to look again, if anything is left.
    fn sweep(&self, cx: &mut Context<'_>) -> Option<Instant> {
        let mut kept = self.kept.borrow_mut();
        let now = Instant::now();
        kept.retain(|(since, connection)| {
            now.duration_since(*since) < self.idle_timeout && connection.poll_quiet(cx)
        });
        kept.front().map(|(since, _)| *since + self.idle_timeout)
    }
}

/// Watches the kept connections of a server while there are any.
async fn watch(line: Weak<Line>) {
    let mut timer = pin!(sleep_until(Instant::now()));
    poll_fn(|cx| {
        let Some(line) = line.upgrade() else { return Poll::Ready(()) };
        loop {
            let Some(next) = line.sweep(cx) else {
                *line.watcher.borrow_mut() = None;
                return Poll::Ready(());
            };
            line.watcher.replace(Some(cx.waker().clone()));
            timer.as_mut().reset(next);
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await;
}

impl Lent {
    /// Gives a connection back whose last answer is read to its end.
    pub fn give_back(self) {
        let Self { mut connection, mut place, reusable } = self;
        let line = Rc::clone(&place.line);
        if let Some(loan) = place.loan.take() {
            loan.done();
        }
        drop(place);
        // Bytes that nobody asked for may pass for an answer.
        if reusable && connection.inbox().is_empty() {
            line.keep(connection);
        }
    }

    /// Closes a connection in the middle of an answer.
    pub fn give_up(mut self, error: FetchError) {
        let loan = self.place.loan.take();
        // One that is silent may be at work.
        if let Some(loan) = loan.filter(|_| error != FetchError::Timeout) {
            loan.lost();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.busy.set(self.line.busy.get() - 1);
    }
}

/// Highest random weight (Thaler and Ravishankar, 1998).
fn rendezvous(servers: &[Server], index: usize, key: &[u8]) -> u64 {
    let state = foldhash::fast::FixedState::with_seed(0x7464);
    state.hash_one((servers[index].address, key))
}
