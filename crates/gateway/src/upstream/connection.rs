//! Drives one connection to a server or worker: sends a request, reads the head of the response.
//!
//! Invariants: only the task of its request drives a connection; while it is kept, `connections`
//! watches it. An idle connection holds no buffer. A response may come before its request is sent.
//! It is read at once, while the rest of the request is still sent. Interim responses go to
//! `interim` as they come. Bounds: `HEAD_BYTES_MAX` of `http1::response` for a head,
//! `READ_BYTES_MAX` for a read. `answer_timeout` counts from the last progress in sending; a
//! deadline ends it in any case. Never here: the body (`body`), whether it is reused (`response`),
//! connecting (`servers`, `workers`).

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, sleep_until};

use super::dispatch::Dispatch;
use super::stream::UpstreamStream;
use super::upload::{Broken, Upload};
use crate::error::FetchError;
use http1::response;
use http1::response::Head;

/// Bytes of a read at first; reads of a long body grow.
const READ_BYTES: usize = 16 * 1024;
/// Bytes of a read at most.
pub(super) const READ_BYTES_MAX: usize = 128 * 1024;
/// Buffers that a thread keeps for reuse.
const SPARE_MAX: usize = 256;

thread_local! {
    static SPARE: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// One connection to a server.
#[derive(Debug)]
pub(super) struct UpstreamConnection {
    stream: UpstreamStream,
    /// Bytes that are received and not consumed yet.
    inbox: BytesMut,
    /// Bytes of the next read.
    read_bytes: usize,
    /// Bytes of the request that are sent.
    sent: usize,
    /// Whether sending has failed, so that nothing more is sent.
    mute: bool,
    /// Whether any byte has come since the request began.
    heard: bool,
    /// Bytes of the inbox that were searched for the end of a head.
    scanned: usize,
}

impl UpstreamConnection {
    /// Returns a connection that was just made.
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

    /// Sends a request and reads the head of its response, while an upload goes on. The head must
    /// come within `answer_timeout` after the last progress in sending, and by the deadline.
    ///
    /// # Errors
    /// When the connection fails or a timeout passes. Also when the response is malformed or has
    /// too many interim responses, and when the client fails to send its body.
    pub(super) async fn ask(
        &mut self,
        dispatch: Dispatch<'_, '_>,
        answer_timeout: Duration,
    ) -> Result<Head, FetchError> {
        self.begin();
        self.ask_on(dispatch, answer_timeout).await
    }

    /// Begins with another request.
    pub(super) fn begin(&mut self) {
        (self.sent, self.heard, self.scanned) = (0, false, 0);
    }

    /// Goes on asking where [`Self::ask`], or this, was dropped.
    ///
    /// # Errors
    /// As for [`Self::ask`].
    pub(super) async fn ask_on(
        &mut self,
        dispatch: Dispatch<'_, '_>,
        answer_timeout: Duration,
    ) -> Result<Head, FetchError> {
        let from_now = || {
            let end = Instant::now() + answer_timeout;
            dispatch.deadline.map_or(end, |deadline| deadline.min(end))
        };
        let mut timer = pin!(sleep_until(from_now()));
        let mut sent = 0;
        poll_fn(|cx| {
            if let Poll::Ready(outcome) = self.poll_ask(cx, dispatch) {
                return Poll::Ready(outcome);
            }
            let awaits_client = dispatch.upload.is_some_and(Upload::awaits_client);
            // A long request may take long, as long as it makes progress. The pace of the client is
            // not the server's.
            if awaits_client || sent > 0 && sent < self.sent {
                timer.as_mut().reset(from_now());
            }
            sent = self.sent;
            timer.as_mut().poll(cx).map(|()| Err(FetchError::Timeout))
        })
        .await
    }

    fn poll_ask(
        &mut self,
        cx: &mut Context<'_>,
        dispatch: Dispatch<'_, '_>,
    ) -> Poll<Result<Head, FetchError>> {
        if let Poll::Ready(Err(error)) = self.poll_send(cx, dispatch) {
            return Poll::Ready(Err(error));
        }
        loop {
            if let Some(head) = self.next_head(dispatch.request.is_head())? {
                match head.status {
                    101 | 200.. => return Poll::Ready(Ok(head)),
                    status => dispatch.interim.add(status, &head.fields)?,
                }
                continue;
            }
            match ready!(self.poll_read(cx)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(FetchError::Closed)),
                Ok(_) => self.heard = true,
            }
        }
    }

    /// Sends the request, and then its upload. Completes when all is sent, or the server takes no
    /// more: it may have sent a response before it closed its receiving side.
    ///
    /// # Errors
    /// When the client fails to send the upload.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        dispatch: Dispatch<'_, '_>,
    ) -> Poll<Result<(), FetchError>> {
        while self.sent < dispatch.request.length() && !self.mute {
            let [head, body] = dispatch.request.rest(self.sent);
            match ready!(poll_write(&self.stream, cx, [head, body])) {
                Ok(sent) => self.sent += sent,
                Err(_) => self.mute = true,
            }
        }
        match dispatch.upload {
            Some(upload) if !self.mute => self.poll_upload(cx, upload),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_upload(
        &mut self,
        cx: &mut Context<'_>,
        upload: &Upload<'_>,
    ) -> Poll<Result<(), FetchError>> {
        let (stream, sent) = (&self.stream, &mut self.sent);
        let passed = ready!(upload.poll_pass(cx, |cx, bytes| {
            let slices = [io::IoSlice::new(bytes), io::IoSlice::new(b"")];
            let written = ready!(poll_write(stream, cx, slices));
            *sent += written.as_ref().map_or(0, |bytes| *bytes);
            Poll::Ready(written)
        }));
        self.mute |= matches!(passed, Err(Broken::Server));
        Poll::Ready(match passed {
            Err(Broken::Client) => Err(FetchError::Upload),
            Ok(()) | Err(Broken::Server) => Ok(()),
        })
    }

    /// Takes a head out of the inbox, if one is complete.
    fn next_head(&mut self, to_head: bool) -> Result<Option<Head>, FetchError> {
        // Parsed again only when a line has ended. Otherwise a head that arrives byte by byte would
        // cost quadratic time.
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

    /// Reads the bytes that have arrived; returns 0 at the end of the stream.
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

    /// Sends more of the request after an early response. If sending fails, the rest is discarded.
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

    /// Returns the bytes that are received and not consumed yet.
    pub(super) fn inbox(&mut self) -> &mut BytesMut {
        &mut self.inbox
    }

    /// Returns the bytes of the request that are sent.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Whether any byte has come since the request began.
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Whether a worker has yet to read some of the request.
    pub(super) fn is_unread(&self) -> bool {
        self.stream.is_unread()
    }

    /// Whether an idle connection is quiet: neither bytes nor its end are known to have come. `cx`
    /// is woken when something comes.
    pub(super) fn poll_quiet(&self, cx: &mut Context<'_>) -> bool {
        self.inbox.is_empty() && self.stream.poll_read_ready(cx).is_pending()
    }

    /// Whether an idle connection is quiet; no task is woken later. It costs no system call.
    pub(super) fn is_quiet(&self) -> bool {
        let nothing = self.stream.try_read(&mut [0]);
        nothing.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Gives the buffer back, because the connection is idle.
    pub(super) fn rest(&mut self) {
        let inbox = std::mem::take(&mut self.inbox);
        // A buffer that grew is freed instead.
        if std::mem::replace(&mut self.read_bytes, READ_BYTES) == READ_BYTES {
            give(inbox);
        }
    }

    /// Returns the socket, and the bytes that came behind the head.
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

/// Keeps a buffer for the next connection that receives bytes.
fn give(mut inbox: BytesMut) {
    inbox.clear();
    SPARE.with_borrow_mut(|spare| {
        if spare.len() < SPARE_MAX {
            spare.push(inbox);
        }
    });
}
