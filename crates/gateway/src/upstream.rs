//! Upstreams over HTTP: servers, who is asked, and the connections kept to them.
//!
//! `Upstream` is what all cores share: addresses, health, the retry budget. `Pool` is one core's
//! connections to it; a connection never leaves its core.
//! Invariant: a connection carries another request only when the end of the last answer is beyond
//! doubt, so that no answer is ever taken for that of another request (RFC 9112 §6.3, §9.2).
//! Here: choosing, connecting, sending, timing out. Never here: caching, coalescing.

mod body;
mod budget;
mod framing;
mod health;
mod switch;

use std::cell::{Cell, RefCell};
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

pub use body::UpstreamBody;
pub use budget::RetryBudget;
pub use health::{Health, HealthPlan, probe};
pub use switch::Switched;

use crate::error::FetchError;

type Sender = SendRequest<Full<Bytes>>;
type Connection = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;
/// A response whose body has not been read.
pub type Response = http::Response<UpstreamBody>;
/// A request with its whole body.
pub type Request = http::Request<Full<Bytes>>;

/// How a server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balance {
    /// The healthy server with the fewest requests under way.
    #[default]
    LeastLoaded,
    /// The healthy server that the key hashes to; keys move only when a server comes or goes.
    ConsistentHash,
}

/// An upstream as all cores see it.
#[derive(Debug)]
pub struct Upstream {
    /// Its name.
    pub name: Arc<str>,
    /// Its servers.
    pub servers: Vec<Server>,
    /// How a server is chosen.
    pub balance: Balance,
    /// `Host` to send instead of the client's.
    pub host: Option<Box<str>>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time from the sent request to the head of the answer.
    pub answer_timeout: Duration,
    /// Time between two pieces of a body.
    pub piece_timeout: Duration,
    /// Connections a core and server.
    pub connections_max: usize,
    /// Probes.
    pub health: Option<HealthPlan>,
    /// Retries.
    pub retry: Option<RetryBudget>,
}

/// One server of an upstream.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    /// Its health.
    pub health: Health,
}

impl Upstream {
    /// Whether any server is healthy.
    pub fn is_healthy(&self) -> bool {
        self.servers.iter().any(|server| server.health.is_healthy())
    }
}

/// One core's connections to an upstream.
#[derive(Debug)]
pub struct Pool {
    upstream: Arc<Upstream>,
    lines: Vec<Rc<Line>>,
    turn: Cell<usize>,
}

/// One core's connections to one server.
#[derive(Debug, Default)]
struct Line {
    idle: RefCell<Vec<Sender>>,
    /// Requests under way.
    busy: Cell<usize>,
}

/// Holds a connection while a request is under way; gives it back when its body is read.
#[derive(Debug)]
struct Lent {
    line: Rc<Line>,
    sender: Option<Sender>,
    /// The connection may carry another request.
    reusable: bool,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.line.busy.set(self.line.busy.get() - 1);
        if let Some(sender) = self.sender.take()
            && self.reusable
            && !sender.is_closed()
        {
            self.line.idle.borrow_mut().push(sender);
        }
    }
}

impl Pool {
    /// No connections yet.
    pub fn new(upstream: Arc<Upstream>) -> Self {
        let lines = upstream.servers.iter().map(|_| Rc::default()).collect();
        Self { upstream, lines, turn: Cell::new(0) }
    }

    /// The upstream.
    pub fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    /// Sends a request and returns the answer's head; retries within the budget when `idempotent`.
    ///
    /// # Errors
    /// When no server answered; the error of the last attempt.
    pub async fn send(
        &self,
        request: Request,
        again: &dyn Fn() -> Option<Request>,
        (key, idempotent): (&[u8], bool),
    ) -> Result<Response, FetchError> {
        let mut request = Some(request);
        if let Some(budget) = &self.upstream.retry {
            budget.note_request();
        }
        let mut tried = None;
        loop {
            let server = self.choose(key, tried).ok_or(FetchError::Unhealthy)?;
            let outcome = self.send_to(server, &mut request, again, idempotent).await;
            let worth = match &outcome {
                Ok(response) => matches!(response.status().as_u16(), 502..=504),
                Err(error) => error.is_worth_a_retry(),
            };
            let repeat = worth && idempotent && tried.is_none();
            if !repeat || !self.upstream.retry.as_ref().is_some_and(RetryBudget::take) {
                return outcome;
            }
            tried = Some(server);
        }
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
        request: &mut Option<Request>,
        again: &dyn Fn() -> Option<Request>,
        idempotent: bool,
    ) -> Result<Response, FetchError> {
        let mut lent = self.lend(server)?;
        loop {
            let kept = lent.line.idle.borrow_mut().pop();
            let reused = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect(server).await?,
            };
            if sender.ready().await.is_err() {
                if reused {
                    continue;
                }
                return Err(FetchError::Closed);
            }
            // Kept connections rarely die under a request: it is made again rather than copied.
            let once = request.take().or_else(again).ok_or(FetchError::Malformed)?;
            let answer = sender.try_send_request(once);
            match timeout(self.upstream.answer_timeout, answer).await {
                Err(_) => return Err(FetchError::Timeout),
                // Nobody asked for another protocol: `Upgrade` is never forwarded.
                Ok(Ok(response)) if response.status().is_informational() => {
                    return Err(FetchError::Malformed);
                }
                Ok(Ok(response)) => {
                    lent.reusable = framing::ends_beyond_doubt(&response)?;
                    lent.sender = Some(sender);
                    let piece_timeout = self.upstream.piece_timeout;
                    return Ok(response.map(|body| UpstreamBody::new(body, lent, piece_timeout)));
                }
                Ok(Err(mut error)) => {
                    // The server may have closed a kept connection while the request was under
                    // way; only one that changes nothing is sent again then (RFC 9110 §9.2.2).
                    let error_class = class(error.error());
                    let lost = idempotent && error_class == FetchError::Closed;
                    *request = error.take_message();
                    if !(reused && (lost || request.is_some())) {
                        return Err(error_class);
                    }
                }
            }
        }
    }

    /// Takes one of the server's places.
    fn lend(&self, server: usize) -> Result<Lent, FetchError> {
        let line = &self.lines[server];
        if line.busy.get() >= self.upstream.connections_max {
            return Err(FetchError::Busy);
        }
        line.busy.set(line.busy.get() + 1);
        Ok(Lent { line: Rc::clone(line), sender: None, reusable: false })
    }

    async fn connect(&self, server: usize) -> Result<Sender, FetchError> {
        let (sender, connection) = self.open(server).await?;
        tokio::task::spawn_local(async move {
            // The request that is under way learns of the connection's end by itself.
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn open(&self, server: usize) -> Result<(Sender, Connection), FetchError> {
        let address = self.upstream.servers[server].address;
        let connect = timeout(self.upstream.connect_timeout, TcpStream::connect(address));
        let stream = match connect.await {
            Err(_) => return Err(FetchError::Timeout),
            Ok(stream) => stream.map_err(|_| FetchError::Connect)?,
        };
        // Requests are whole writes; waiting for more (Nagle) would only delay them.
        let _ = stream.set_nodelay(true);
        let handshake = http1::Builder::new().handshake(TokioIo::new(stream));
        handshake.await.map_err(|_| FetchError::Connect)
    }
}

/// Highest random weight (Thaler and Ravishankar, 1998).
fn rendezvous(servers: &[Server], index: usize, key: &[u8]) -> u64 {
    let state = foldhash::fast::FixedState::with_seed(0x7464);
    state.hash_one((servers[index].address, key))
}

fn class(error: &hyper::Error) -> FetchError {
    if error.is_timeout() {
        FetchError::Timeout
    } else if error.is_parse() {
        FetchError::Malformed
    } else {
        FetchError::Closed
    }
}
