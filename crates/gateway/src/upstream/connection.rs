//! One connection to a server: a request goes out in one write, the answer's head comes back.
//!
//! Invariants: it is driven by the task whose request it carries, and by nobody else; it holds a
//! buffer only while there are bytes to hold; an answer that comes before its request is sent is
//! heard at once, and is the last on its connection. What comes ahead of an answer (1xx) is told
//! as it comes. Bound: a head has at most `HEAD_BYTES_MAX` bytes, a read at most `READ_BYTES_MAX`.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep_until};

use super::interim::InterimResponses;
use super::render::UpstreamRequest;
use super::stream::UpstreamStream;
use crate::error::FetchError;
use http1::response;
use http1::response::Head;

/// Bytes read at once, until a body turns out to be long.
const READ_BYTES: usize = 16 * 1024;
const READ_BYTES_MAX: usize = 128 * 1024;
/// Buffers that a thread keeps for reuse.
const SPARE_MAX: usize = 256;

thread_local! {
    static SPARE: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// One connection to a server.
#[derive(Debug)]
pub(super) struct UpstreamConnection {
    stream: UpstreamStream,
    /// What is received and not read yet.
    inbox: BytesMut,
    /// Bytes to read at once.
    read_bytes: usize,
    /// Bytes of the request that are sent.
    sent: usize,
    /// Nothing more can be sent.
    mute: bool,
    /// Whether anything came since the request began.
    heard: bool,
    /// Bytes of the inbox that hold no whole head.
    scanned: usize,
}

/// Until when a response's head must come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    /// Time since the last byte of the request went out.
    pub answer_timeout: Duration,
    /// In any case.
    pub deadline: Option<Instant>,
}

impl Deadlines {
    fn deadline_from(self, now: Instant) -> Instant {
        let deadline = now + self.answer_timeout;
        self.deadline.map_or(deadline, |end| end.min(deadline))
    }
}

impl UpstreamConnection {
    /// A connection that was just made.
    pub(super) fn new(stream: UpstreamStream) -> Self {
        let inbox = BytesMut::new();
        Self {
            stream,
            inbox,
            read_bytes: READ_BYTES,
            sent: 0,
            mute: false,
            heard: false,
            scanned: 0,
        }
    }

    /// Sends a request and reads the head of its response; `interim` gets what comes ahead of that.
    ///
    /// # Errors
    /// Also of an answer that says too much ahead of itself.
    pub(super) async fn ask(
        &mut self,
        request: &UpstreamRequest,
        interim: &InterimResponses,
        deadlines: Deadlines,
    ) -> Result<Head, FetchError> {
        (self.sent, self.heard, self.scanned) = (0, false, 0);
        let mut timer = pin!(sleep_until(deadlines.deadline_from(Instant::now())));
        let mut sent = 0;
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = self.poll_ask(cx, request, interim) {
                return Poll::Ready(outcome);
            }
            // A long request may take its time, as long as it goes on.
            if sent > 0 && sent < self.sent {
                timer.as_mut().reset(deadlines.deadline_from(Instant::now()));
            }
            sent = self.sent;
            timer.as_mut().poll(cx).map(|()| Err(FetchError::Timeout))
        })
        .await
    }

    fn poll_ask(
        &mut self,
        cx: &mut Context<'_>,
        request: &UpstreamRequest,
        interim: &InterimResponses,
    ) -> Poll<Result<Head, FetchError>> {
        if let Poll::Ready(Err(_)) = self.poll_send(cx, request) {
            // The server may have answered before it stopped listening.
            self.mute = true;
        }
        loop {
            if let Some(head) = self.next_head(request.is_head())? {
                match head.status {
                    101 | 200.. => return Poll::Ready(Ok(head)),
                    status => interim.add(status, &head.fields)?,
                }
                continue;
            }
            match ready!(self.poll_read(cx)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(FetchError::Closed)),
                Ok(_) => self.heard = true,
            }
        }
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        request: &UpstreamRequest,
    ) -> Poll<io::Result<()>> {
        while self.sent < request.length() && !self.mute {
            let [head, body] = request.rest(self.sent);
            self.sent += ready!(poll_write(&self.stream, cx, [head, body]))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes a head out of the inbox, when one is complete.
    fn next_head(&mut self, to_head: bool) -> Result<Option<Head>, FetchError> {
        // Parsed anew only when a line ended: byte by byte, a head would cost its square.
        let fresh = &self.inbox[self.scanned..];
        let may_be_whole = memchr::memchr(b'\n', fresh).is_some();
        if !may_be_whole && self.inbox.len() < response::HEAD_BYTES_MAX {
            self.scanned = self.inbox.len();
            return Ok(None);
        }
        let parsed = response::parse(&self.inbox, to_head)?;
        self.scanned = if parsed.is_some() { 0 } else { self.inbox.len() };
        Ok(parsed.map(|(head, length)| {
            bytes::Buf::advance(&mut self.inbox, length);
            head
        }))
    }

    /// Reads what is there; 0 at the end.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.inbox.capacity() == 0 {
            ready!(self.stream.poll_read_ready(cx))?;
            self.inbox = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        }
        self.inbox.reserve(self.read_bytes);
        let space = self.inbox.capacity() - self.inbox.len();
        let read = ready!(pin!(self.stream.read_buf(&mut self.inbox)).poll(cx))?;
        if read == space {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        }
        Poll::Ready(Ok(read))
    }

    /// Sends more of what an early answer left unsent; what cannot be sent is forgotten.
    pub(super) fn send_on(&mut self, cx: &mut Context<'_>, left: &mut Bytes) {
        while !left.is_empty() {
            let slices = [io::IoSlice::new(left), io::IoSlice::new(b"")];
            match poll_write(&self.stream, cx, slices) {
                Poll::Pending => return,
                Poll::Ready(Ok(sent)) => drop(left.split_to(sent)),
                Poll::Ready(Err(_)) => left.clear(),
            }
        }
    }

    /// What is received and not read yet.
    pub(super) fn inbox(&mut self) -> &mut BytesMut {
        &mut self.inbox
    }

    /// Bytes sent of the request.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Whether any byte came since the request began.
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Whether nothing came that nobody asked for, neither bytes nor an end, as far as is known;
    /// `cx` is woken when something does.
    pub(super) fn poll_quiet(&self, cx: &mut Context<'_>) -> bool {
        self.inbox.is_empty() && self.stream.poll_read_ready(cx).is_pending()
    }

    /// The same, without being told later. Costs no system call.
    pub(super) fn is_quiet(&self) -> bool {
        let nothing = self.stream.try_read(&mut [0]);
        nothing.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Gives the buffer back: the connection has nothing to hold.
    pub(super) fn rest(&mut self) {
        let inbox = std::mem::take(&mut self.inbox);
        // What grew is freed.
        if std::mem::replace(&mut self.read_bytes, READ_BYTES) == READ_BYTES {
            give(inbox);
        }
    }

    /// The socket, and what came behind the answer.
    pub(super) fn into_parts(mut self) -> (UpstreamStream, Bytes) {
        (self.stream, self.inbox.split().freeze())
    }
}

fn poll_write(
    stream: &UpstreamStream,
    cx: &mut Context<'_>,
    slices: [io::IoSlice<'_>; 2],
) -> Poll<io::Result<usize>> {
    loop {
        match stream.try_write_vectored(&slices) {
            Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready!(stream.poll_write_ready(cx))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => return Poll::Ready(written),
        }
    }
}

/// Keeps a buffer for the next connection that hears something.
fn give(mut inbox: BytesMut) {
    inbox.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_MAX {
            spare.push(inbox);
        }
    });
}
