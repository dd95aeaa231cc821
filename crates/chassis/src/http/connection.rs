//! Runs the life of a connection: read a head, let the role answer, write the reply, repeat.
//!
//! Invariants: a connection serves one request at a time. It parses the next head only after the
//! reply is written and the body of the last request is read to its end. A malformed or ambiguous
//! head gets one error reply, and the connection closes. A connection that became a tunnel carries
//! no further request. A streamed body that ends early or exceeds its announced length closes the
//! connection.
//!
//! Here are also `Answer`, and `Connections`: the list of a core, its timeouts, and its drain, as
//! docs/operating/start-and-stop.md promises. The gateway, `admin` and the scrape page of statsd
//! implement `Answer`. After a malformed head, or a body not read to its end, up to 32 MiB more are
//! discarded before the close. So the client can read the reply. Status 0 in `Sent` means that the
//! client left before the reply: the journal and the metrics show it. Never here: how a request is
//! answered, the framing fields (`reply`), accepting (`listen`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io::Write as _;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http1::Head;
use http1::request::{self, Malformed, RequestLine};
use tokio::net::TcpStream;

use super::body::Incoming;
use super::buffers::{self, Buffers};
use super::io::{Live, Stage};
use super::limits::Limits;
use super::reply::{Framing, Payload, Reply, Source};
use super::tunnel;
use crate::clients::{ClientBudgets, ClientCounts, ClientId};

/// Bodies up to this length are copied behind the head, and both go out in one write.
const ONE_WRITE_BYTES_MAX: usize = 32 * 1024;
/// Bytes that are read and discarded after the last reply, before the socket is closed.
const LINGER_BYTES_MAX: usize = 32 << 20;
/// Idle timeout of tunnels during the drain: a tunnel with traffic may finish.
const DRAIN_QUIET: Duration = Duration::from_secs(1);

/// Answers requests; every role that serves HTTP implements it.
#[expect(async_fn_in_trait, reason = "a connection stays on the thread that accepted it")]
pub trait Answer {
    /// What the role keeps of a request until its reply is sent.
    type Trace;

    /// Makes the reply to one request.
    async fn answer(
        &self,
        head: &Head<'_>,
        body: &mut Incoming<'_>,
        reply: &mut Reply,
    ) -> Self::Trace;

    /// Called when the reply has been sent, or has failed.
    fn sent(&self, head: &Head<'_>, trace: Self::Trace, sent: &Sent);

    /// Called when a connection is refused beyond the bound of all, or that of this client.
    fn refused(&self, _at_share: Option<ClientId>) {}

    /// Returns the budgets for what clients have sent and not received yet; none by default. At its
    /// bound, a client loses connections whose head has arrived in part, and those on which it does
    /// not read.
    fn budgets(&self) -> Option<&Arc<ClientBudgets>> {
        None
    }
}

/// The outcome of sending a reply.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The status that was sent; 0 when the client left before there was a reply.
    pub status: u16,
    /// Bytes of the request's body that were read.
    pub bytes_in: u64,
    /// Bytes of the reply's body that were written.
    pub bytes_out: u64,
    /// False when the client left, or the body ended early.
    pub complete: bool,
    /// Whether the body ended early because its source failed.
    pub body_failed: bool,
}

/// How the sending of a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    ClientLeft,
    BodyFailed,
}

impl Ending {
    fn of(written: &std::io::Result<()>) -> Self {
        if written.is_ok() { Self::Whole } else { Self::ClientLeft }
    }
}

/// The connections of one core.
#[derive(Debug)]
pub struct Connections {
    limits: Limits,
    budgets: Arc<ClientBudgets>,
    live: RefCell<HashMap<u64, Rc<Live>>>,
    /// Those of each client.
    of_clients: ClientCounts,
    next: Cell<u64>,
    /// Seconds since start; advanced by [`Self::sweep`].
    clock: Rc<Cell<u32>>,
    draining: Cell<bool>,
}

impl Connections {
    /// Returns an empty list of connections, for a role with these budgets.
    pub fn new(limits: Limits, budgets: Option<&Arc<ClientBudgets>>) -> Self {
        Self {
            limits,
            budgets: budgets.map_or_else(|| Arc::new(ClientBudgets::unbounded()), Arc::clone),
            live: RefCell::default(),
            of_clients: ClientCounts::default(),
            next: Cell::new(0),
            clock: Rc::default(),
            draining: Cell::new(false),
        }
    }

    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.live.borrow().len()
    }

    /// Whether a client has its share of all connections that there may be. A trusted proxy has no
    /// share, because it speaks for many clients.
    pub fn is_at_share(&self, peer: SocketAddr) -> bool {
        let share = self.budgets.share_of(self.limits.connections_max);
        self.of_clients.of(peer.ip().into()) >= share && !self.limits.trusted.has(peer.ip())
    }

    /// Advances the tick by a second, and shuts the connections whose timeout has passed.
    pub fn sweep(&self) {
        self.clock.set(self.clock.get() + 1);
        for live in self.live.borrow().values() {
            let waited = |timeout: Duration| u64::from(live.seconds()) > timeout.as_secs();
            let limits = &self.limits;
            let is_late = match live.stage() {
                Stage::Idle => self.draining.get() || waited(limits.idle_timeout),
                Stage::Head => waited(limits.head_timeout),
                Stage::Body => {
                    let pace = live.wait_a_second();
                    let is_over = u64::from(pace.waited_s) > limits.body_timeout.as_secs();
                    if is_over || waited(limits.receive_timeout) || pace.is_below(limits) {
                        live.end_receiving();
                    }
                    false
                }
                Stage::Sending => {
                    let pace = live.acknowledged(live.wait_a_second());
                    waited(limits.send_timeout) || pace.is_below(limits)
                }
                Stage::Tunnel(_) if self.draining.get() => waited(DRAIN_QUIET),
                Stage::Tunnel(seconds) => waited(Duration::from_secs(seconds.into())),
                Stage::Answering => false,
            };
            if is_late {
                live.shut();
            }
        }
    }

    /// Begins the drain. Idle connections end at once, tunnels when they fall quiet, and the others
    /// after their current reply.
    pub fn drain(&self) {
        self.draining.set(true);
        for live in self.live.borrow().values() {
            if live.stage() == Stage::Idle {
                live.shut();
            }
        }
    }

    /// Takes over a connection, which counts from now on; [`serve`] must be called with it.
    pub fn enter(&self, stream: TcpStream, peer: SocketAddr) -> Accepted {
        let number = self.next.get();
        self.next.set(number + 1);
        let clock = Rc::clone(&self.clock);
        // A trusted proxy speaks for many clients.
        let is_proxy = self.limits.trusted.has(peer.ip());
        let budgets = (Arc::clone(&self.budgets), !is_proxy);
        let live = Rc::new(Live::new(stream, peer, clock, budgets));
        self.live.borrow_mut().insert(number, Rc::clone(&live));
        self.of_clients.add(peer.ip().into());
        Accepted { live, number }
    }
}

/// A connection that was accepted, and is not served yet.
#[derive(Debug)]
pub struct Accepted {
    live: Rc<Live>,
    number: u64,
}

/// Serves a connection until either side ends it.
pub async fn serve<S: Answer>(role: &S, accepted: Accepted, connections: &Connections) {
    let Accepted { live, number } = accepted;
    let _left = Left { connections, number };
    let mut inbox = None;
    while serve_one(role, &live, &mut inbox, connections).await.is_some() {
        live.enter(Stage::Idle);
        if connections.draining.get() {
            break;
        }
    }
    if let Some(unused) = inbox.take() {
        buffers::give(unused);
    }
}

/// Serves one request; `None` when the connection must close.
async fn serve_one<S: Answer>(
    role: &S,
    live: &Rc<Live>,
    inbox: &mut Option<Box<Buffers>>,
    connections: &Connections,
) -> Option<()> {
    let (mut lent, line) = match receive_head(live, inbox, connections).await? {
        Ok(received) => received,
        Err(malformed) => {
            refuse(live, malformed).await;
            return None;
        }
    };
    let fields = std::mem::take(&mut lent.fields);
    let trusted = &connections.limits.trusted;
    let mut head = Head::new(&lent.inbox[..line.head_bytes()], &line, &fields, live.peer);
    head.believe(trusted);
    let informs = !head.is_http_10();
    let mut reply = Reply::new(std::mem::take(&mut lent.out), Some(Rc::clone(live)), informs);
    let rest = split_rest(&lent, line.head_bytes());
    let awaited = !head.is_http_10() && head.has_token("expect", "100-continue");
    let mut body = Incoming::new(live, rest, line.body_length(), awaited);

    live.begin_pace();
    live.enter(Stage::Answering);
    let trace = role.answer(&head, &mut body, &mut reply).await;

    live.begin_pace();
    live.enter(Stage::Sending);
    let keep = head.keeps_alive() && !connections.draining.get() && body.may_drain();
    let framing = reply.seal(head.method() == "HEAD", head.is_http_10(), keep);
    let status = reply.status();
    let tunnel = reply.take_tunnel();
    let (bytes_out, ending) = send(live, &mut reply, framing).await;
    let (complete, body_failed) = (ending == Ending::Whole, ending == Ending::BodyFailed);
    if let Some((far, idle)) = tunnel.filter(|_| complete) {
        let early = body.into_rest();
        // A tunnel may last for hours: it keeps a copy of the head, and gives the buffer back.
        let bytes = lent.inbox[..line.head_bytes()].to_vec();
        let mut head = Head::new(&bytes, &line, &fields, live.peer);
        head.believe(trusted);
        lent.out = reply.out;
        buffers::give(lent);
        let tunnel::Passed { bytes_in, bytes_out, complete } =
            tunnel::pass(live, early, far, idle).await;
        role.sent(&head, trace, &Sent { status, bytes_in, bytes_out, complete, body_failed });
        return None;
    }
    let bytes_in = body.bytes_read();
    role.sent(&head, trace, &Sent { status, bytes_in, bytes_out, complete, body_failed });

    let close = reply.close || !complete;
    lent.out = reply.out;
    lent.fields = fields;
    buffers::give(lent);
    if close {
        if complete && !body.is_done() {
            linger(live).await;
        }
        return None;
    }
    match body.drain().await {
        Some(rest) => *inbox = rest,
        None => {
            linger(live).await;
            return None;
        }
    }
    Some(())
}

/// Reads until a head is complete; `None` at the end of the connection.
async fn receive_head(
    live: &Live,
    inbox: &mut Option<Box<Buffers>>,
    connections: &Connections,
) -> Option<Result<(Box<Buffers>, RequestLine), Malformed>> {
    let Limits { head_bytes_max: bytes_max, underscores, .. } = connections.limits;
    let mut seen = 0;
    loop {
        if let Some(lent) = inbox.as_deref_mut() {
            let empty = request::empty_lines(&lent.inbox[..lent.filled]);
            consume(lent, empty);
            seen -= empty.min(seen);
            let bytes = &lent.inbox[..lent.filled];
            // Parsed again only when a line has ended. Otherwise a head that arrives byte by byte
            // would cost quadratic time.
            let parsed = match seen == 0 || memchr::memchr(b'\n', &bytes[seen..]).is_some() {
                true if !bytes.is_empty() => request::parse(bytes, underscores, &mut lent.fields),
                _ => Ok(None),
            };
            seen = lent.filled;
            match parsed {
                Ok(Some(line)) if line.head_bytes() > bytes_max => {
                    return Some(Err(Malformed::TooLong));
                }
                Ok(Some(line)) => return inbox.take().map(|lent| Ok((lent, line))),
                Ok(None) if seen >= bytes_max => return Some(Err(Malformed::TooLong)),
                Ok(None) => {}
                Err(malformed) => return Some(Err(malformed)),
            }
            if seen > 0 && live.stage() == Stage::Idle {
                live.enter(Stage::Head);
            }
        }
        if live.fill(inbox).await.ok()? == 0 {
            return None;
        }
    }
}

/// Copies the bytes received behind the head into another buffer, if there are any.
fn split_rest(lent: &Buffers, head_bytes: usize) -> Option<Box<Buffers>> {
    let rest = &lent.inbox[head_bytes..lent.filled];
    if rest.is_empty() {
        return None;
    }
    let mut buffers = buffers::take();
    if rest.len() > buffers.inbox.len() {
        buffers.inbox.resize(rest.len(), 0);
    }
    buffers.inbox[..rest.len()].copy_from_slice(rest);
    buffers.filled = rest.len();
    Some(buffers)
}

fn consume(lent: &mut Buffers, bytes: usize) {
    if bytes > 0 {
        lent.inbox.copy_within(bytes..lent.filled, 0);
        lent.filled -= bytes;
    }
}

/// Writes head and body; returns the body's bytes and how that ended.
async fn send(live: &Live, reply: &mut Reply, framing: Framing) -> (u64, Ending) {
    match std::mem::replace(&mut reply.payload, Payload::Empty) {
        _ if framing == Framing::Unsent => (0, Ending::ClientLeft),
        Payload::Empty | Payload::Withheld(_) | Payload::Tunnel(..) => {
            (0, Ending::of(&live.write_all(&reply.out, b"").await))
        }
        Payload::Spliced(before, middle, after) => {
            reply.out.extend_from_slice(&before);
            reply.out.extend_from_slice(middle.as_bytes());
            let bytes = (before.len() + middle.len() + after.len()) as u64;
            (bytes, Ending::of(&live.write_stored(&reply.out, &after).await))
        }
        Payload::Whole(bytes) | Payload::Stored(bytes) if bytes.len() <= ONE_WRITE_BYTES_MAX => {
            reply.out.extend_from_slice(&bytes);
            (bytes.len() as u64, Ending::of(&live.write_all(&reply.out, b"").await))
        }
        Payload::Whole(bytes) => {
            (bytes.len() as u64, Ending::of(&live.write_all(&reply.out, &bytes).await))
        }
        Payload::Stored(bytes) => {
            (bytes.len() as u64, Ending::of(&live.write_stored(&reply.out, &bytes).await))
        }
        Payload::Stream(length, source) => stream(live, reply, framing, (length, source)).await,
    }
}

/// Writes the pieces of a source, each in one write. The first piece goes out with the head if it
/// is ready; otherwise the head goes out alone.
async fn stream(
    live: &Live,
    reply: &mut Reply,
    framing: Framing,
    (length, mut source): (Option<u64>, Box<dyn Source>),
) -> (u64, Ending) {
    let mut sent = 0;
    while length != Some(sent) {
        // A slow source is not the client's fault: the role limits it, not `send_timeout`.
        live.enter(Stage::Answering);
        let next = poll_fn(|cx| match source.poll_piece(cx) {
            // The bytes that are ready need not wait for a piece that is not.
            Poll::Pending if !reply.out.is_empty() => Poll::Ready(None),
            polled => polled.map(Some),
        });
        let Some(next) = reply.unless_left(next).await else { return (sent, Ending::ClientLeft) };
        live.enter(Stage::Sending);
        let out = &mut reply.out;
        let piece = match next {
            None => {
                if live.write_all(out, b"").await.is_err() {
                    return (sent, Ending::ClientLeft);
                }
                out.clear();
                continue;
            }
            Some(None) => break,
            Some(Some(Ok(piece))) => piece,
            Some(Some(Err(_))) => {
                // With the head sent, the client can see that the body ended early.
                let _ = live.write_all(out, b"").await;
                return (sent, Ending::BodyFailed);
            }
        };
        let after = sent + piece.len() as u64;
        // The client would read bytes beyond the announced length as the next reply.
        if length.is_some_and(|length| after > length) {
            let _ = live.write_all(out, b"").await;
            return (sent, Ending::BodyFailed);
        }
        let mut sending = pin!(send_piece(live, out, &piece, framing));
        let written = poll_fn(|cx| {
            let written = sending.as_mut().poll(cx);
            if written.is_pending() {
                source.read_ahead(cx);
            }
            written
        });
        if written.await.is_err() {
            return (sent, Ending::ClientLeft);
        }
        sent = after;
    }
    if framing == Framing::Chunked {
        reply.out.extend_from_slice(b"0\r\n\r\n");
    }
    let ended = Ending::of(&live.write_all(&reply.out, b"").await);
    let is_whole = length.is_none_or(|length| length == sent);
    (sent, if is_whole { ended } else { Ending::BodyFailed })
}

/// Writes `out` and then a piece, and clears `out`.
async fn send_piece(
    live: &Live,
    out: &mut Vec<u8>,
    piece: &[u8],
    framing: Framing,
) -> std::io::Result<()> {
    let chunked = framing == Framing::Chunked && !piece.is_empty();
    if chunked {
        write!(out, "{:x}\r\n", piece.len())?;
    }
    if piece.len() <= ONE_WRITE_BYTES_MAX {
        out.extend_from_slice(piece);
        if chunked {
            out.extend_from_slice(b"\r\n");
        }
        live.write_all(out, b"").await?;
    } else {
        live.write_all(out, piece).await?;
        if chunked {
            live.write_all(b"\r\n", b"").await?;
        }
    }
    out.clear();
    Ok(())
}

/// Answers a malformed head with its status and the reason.
async fn refuse(live: &Live, malformed: Malformed) {
    let mut reply = Reply::new(Vec::new(), None, false);
    reply.error(malformed.status(), &malformed.to_string());
    reply.seal(false, false, false);
    if let Payload::Whole(body) = &reply.payload {
        live.enter(Stage::Sending);
        if live.write_all(&reply.out, body).await.is_ok() {
            linger(live).await;
        }
    }
}

/// Discards what the client still sends, so that it can read the last reply. Closing a socket with
/// unread bytes would reset the connection.
async fn linger(live: &Live) {
    live.shut_write();
    live.enter(Stage::Sending);
    let mut left = LINGER_BYTES_MAX;
    let mut slot = None;
    while let Ok(bytes) = live.fill(&mut slot).await {
        if bytes == 0 || bytes >= left {
            break;
        }
        left -= bytes;
        if let Some(mut lent) = slot.take() {
            lent.filled = 0;
            buffers::give(lent);
        }
    }
}

/// Removes a connection from the list when it is dropped, however the connection ended.
struct Left<'c> {
    connections: &'c Connections,
    number: u64,
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if let Some(live) = self.connections.live.borrow_mut().remove(&self.number) {
            self.connections.of_clients.remove(live.peer.ip().into());
        }
    }
}
