//! Builds a reply: the role writes its head in place, and `seal` adds the framing once at the end.
//!
//! Invariant: of this crate, only `seal` writes `Content-Length`, `Transfer-Encoding` and
//! `Connection` to a role's reply. It adds `Date`, but not to a 101, and not if the role has told
//! `block` that its lines have one. Roles must not write the framing fields by `field`, `block` or
//! `head_bytes`, which do not look at names. `field` drops a value with a CR, LF or NUL; the other
//! two trust the caller. A reply that was never begun becomes a 500. Here are also `Payload` and
//! `Source`, interim responses, the end of work whose client has left (docs/decisions/gateway.md).
//! `error` writes `{"error": …}`, which clients and `ask_admin` of the binary read;
//! `tidegate/src/admin/refusal.rs` writes the same form. `gateway::reply::streaming` leaves a new
//! `Payload` unencoded. Never here: writing the reply to the socket (`connection`).

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

use super::io::{Live, Stage};
use super::tunnel::Duplex;

/// A body that arrives in pieces.
pub trait Source {
    /// Polls for the next piece; `None` at the end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// Called while the client does not take the last piece. A source that holds something dear,
    /// such as a connection, may fetch more pieces now; by default nothing happens.
    fn read_ahead(&mut self, _cx: &mut Context<'_>) {}
}

/// What follows the head of a reply.
pub enum Payload {
    /// No body: `Content-Length: 0`, or no length where the status forbids one.
    Empty,
    /// No body, though a GET would get this many bytes (replies to HEAD).
    Withheld(Option<u64>),
    /// The whole body.
    Whole(Bytes),
    /// The whole body, which a store holds and accounts for.
    Stored(Bytes),
    /// The same, in three pieces that are written as one.
    Spliced(Bytes, &'static str, Bytes),
    /// A body in pieces, of this total length if it is known.
    Stream(Option<u64>, Box<dyn Source>),
    /// A tunnel to this far side (status 101). It ends after this time without a byte.
    Tunnel(Box<dyn Duplex>, Duration),
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Withheld(length) => write!(f, "Withheld({length:?})"),
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stored(bytes) => write!(f, "Stored({} bytes)", bytes.len()),
            Self::Spliced(before, middle, after) => {
                write!(f, "Spliced({} + {middle} + {} bytes)", before.len(), after.len())
            }
            Self::Stream(length, _) => write!(f, "Stream({length:?})"),
            Self::Tunnel(..) => f.write_str("Tunnel"),
        }
    }
}

/// A reply under construction.
#[derive(Debug)]
pub struct Reply {
    pub(super) out: Vec<u8>,
    pub(super) payload: Payload,
    status: u16,
    dated: bool,
    pub(super) close: bool,
    /// The connection of the client; none for a reply to a malformed head.
    client: Option<Rc<Live>>,
    /// Whether the client understands interim responses (HTTP/1.1).
    informs: bool,
    /// Whether the work for this reply ends when the client leaves.
    watched: bool,
    /// Whether the client has left.
    left: Cell<bool>,
}

impl Reply {
    pub(super) fn new(out: Vec<u8>, client: Option<Rc<Live>>, informs: bool) -> Self {
        Self {
            out,
            payload: Payload::Empty,
            status: 0,
            dated: false,
            close: false,
            client,
            informs,
            watched: false,
            left: Cell::new(false),
        }
    }

    /// Ends this reply as soon as the client leaves, that is, closes its side or resets the
    /// connection. Without this call the work goes on. Then a client that has only closed its
    /// sending side still gets its reply.
    pub fn end_with_client(&mut self) {
        self.watched = true;
    }

    /// Does work for this reply. Returns `None` if the client left before the work was done. The
    /// work is then dropped, no byte of the reply is sent, and its status is 0.
    pub async fn unless_left<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let Some(client) = self.client.as_ref().filter(|_| self.watched) else {
            return Some(work.await);
        };
        tokio::select! {
            // If the work need not wait, the connection is not polled.
            biased;
            done = work => Some(done),
            () = client.until_closed() => {
                self.left.set(true);
                None
            }
        }
    }

    /// Sends an interim response (1xx except 101) at once, ahead of this reply (RFC 9110 §15.2).
    /// `fields` are as for [`Self::block`]. An HTTP/1.0 client gets none.
    pub async fn inform(&self, status: u16, fields: &[u8]) {
        let Some(live) = self.client.as_ref().filter(|_| self.informs) else { return };
        let mut head = Vec::with_capacity(48 + fields.len());
        status_line(&mut head, status);
        head.extend_from_slice(fields);
        head.extend_from_slice(b"\r\n");
        live.enter(Stage::Sending);
        // If the client has left, sending the reply itself will fail.
        let _ = live.write_all(&head, b"").await;
        live.enter(Stage::Answering);
    }

    /// Begins the reply anew with `status`, and discards what was written before.
    pub fn begin(&mut self, status: u16) {
        self.out.clear();
        self.payload = Payload::Empty;
        self.dated = false;
        self.status = status;
        match status {
            200 => self.out.extend_from_slice(b"HTTP/1.1 200 OK\r\n"),
            status => status_line(&mut self.out, status),
        }
    }

    /// Returns the status; 0 before [`Self::begin`].
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Adds a field. It drops the field if the value holds a line break or a NUL.
    pub fn field(&mut self, name: &str, value: &[u8]) {
        if value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
            return;
        }
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Adds field lines that are rendered already, each ended by CRLF. `dated` says that one is
    /// `Date`.
    pub fn block(&mut self, fields: &[u8], dated: bool) {
        self.out.extend_from_slice(fields);
        self.dated |= dated;
    }

    /// Returns the bytes of the head, to append rendered field lines; each must end with CRLF.
    pub fn head_bytes(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sets what follows the head.
    pub fn payload(&mut self, payload: Payload) {
        self.payload = payload;
    }

    /// Answers `{"error": …}` with `status`.
    pub fn error(&mut self, status: u16, message: &str) {
        self.begin(status);
        self.field("content-type", b"application/json");
        let mut body = String::with_capacity(message.len() + 16);
        body.push_str("{\"error\":\"");
        for c in message.chars() {
            match c {
                '"' | '\\' => body.extend(['\\', c]),
                c if c.is_control() => body.push(' '),
                c => body.push(c),
            }
        }
        body.push_str("\"}\n");
        self.payload(Payload::Whole(Bytes::from(body)));
    }

    /// Closes the connection after this reply.
    pub fn close(&mut self) {
        self.close = true;
    }

    /// Returns the length of the body that a GET would get, if it is known.
    pub fn length(&self) -> Option<u64> {
        match &self.payload {
            Payload::Empty => Some(0),
            Payload::Withheld(length) => *length,
            Payload::Tunnel(..) => None,
            Payload::Whole(bytes) | Payload::Stored(bytes) => Some(bytes.len() as u64),
            Payload::Spliced(before, middle, after) => {
                Some((before.len() + middle.len() + after.len()) as u64)
            }
            Payload::Stream(length, _) => *length,
        }
    }

    /// Takes the far side of the tunnel and its idle timeout, if this reply opens one.
    pub(super) fn take_tunnel(&mut self) -> Option<(Box<dyn Duplex>, Duration)> {
        match std::mem::replace(&mut self.payload, Payload::Empty) {
            Payload::Tunnel(far, idle) => Some((far, idle)),
            other => {
                self.payload = other;
                None
            }
        }
    }

    /// Writes the framing fields and the empty line; returns how the body is sent.
    pub(super) fn seal(&mut self, head_only: bool, http_10: bool, keep: bool) -> Framing {
        if self.left.get() {
            (self.status, self.payload) = (0, Payload::Empty);
            return Framing::Unsent;
        }
        if self.status == 0 {
            self.error(500, "the server made no response");
        }
        if matches!(self.payload, Payload::Tunnel(..)) {
            self.close = true;
            self.out.extend_from_slice(b"connection: upgrade\r\n\r\n");
            return Framing::Close;
        }
        if head_only {
            self.payload = Payload::Withheld(self.length());
        }
        let bodiless = matches!(self.status, 100..200 | 204 | 304);
        let mut framing = Framing::Length;
        if bodiless {
            self.payload = Payload::Withheld(None);
        } else if let Some(length) = self.length() {
            self.out.extend_from_slice(b"content-length: ");
            self.out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            self.out.extend_from_slice(b"\r\n");
        } else if !head_only && http_10 {
            framing = Framing::Close;
        } else if !head_only {
            self.out.extend_from_slice(b"transfer-encoding: chunked\r\n");
            framing = Framing::Chunked;
        }
        if !self.dated {
            push_date(&mut self.out);
        }
        self.close |= !keep || framing == Framing::Close;
        match (self.close, http_10) {
            (true, _) => self.out.extend_from_slice(b"connection: close\r\n"),
            (false, true) => self.out.extend_from_slice(b"connection: keep-alive\r\n"),
            (false, false) => {}
        }
        self.out.extend_from_slice(b"\r\n");
        framing
    }
}

fn status_line(out: &mut Vec<u8>, status: u16) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    out.push(b' ');
    out.extend_from_slice(stdx::reason_phrase(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// How the client learns where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunked,
    Close,
    /// The client has left, and nothing is sent.
    Unsent,
}

thread_local! {
    static DATE_SECOND: Cell<i64> = const { Cell::new(0) };
    static DATE_LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Appends a `Date` line, which is rendered once a second. The coarse clock is a few milliseconds
/// behind, and costs a tenth of the exact one.
fn push_date(out: &mut Vec<u8>) {
    let second = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
    DATE_LINE.with_borrow_mut(|line| {
        if DATE_SECOND.replace(second) != second || line.is_empty() {
            let seconds = Duration::from_secs(u64::try_from(second).unwrap_or(0));
            let now = SystemTime::UNIX_EPOCH + seconds;
            line.clear();
            line.extend_from_slice(
                format!("date: {}\r\n", httpdate::fmt_http_date(now)).as_bytes(),
            );
        }
        out.extend_from_slice(line);
    });
}
