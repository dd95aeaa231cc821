//! Reads the body of a request as it arrives, whole or piece by piece.
//!
//! Invariant: it takes exactly the bytes that the framing announces, and none of the next request.
//! If the client waits for it, the first read that finds no bytes sends `100 Continue`. Bounds:
//! `whole` fails with 413 beyond the bytes that its caller allows. An announced length reserves at
//! most `CLAIMED_BYTES_MAX` of memory, and the rest after `EARNEST_BYTES` have come. If the role
//! leaves bytes unread, up to `DRAIN_BYTES_MAX` are read and discarded; beyond that, or if the
//! client still waits, the connection closes. A malformed or truncated body stays so: each further
//! read fails. Never here: what a body means, the timeout of a piece (`connection`), the chunks
//! (`http1::chunked`).

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http1::chunked::{Decoder, Step};
use http1::request::BodyLength;

use super::buffers::{self, Buffers};
use super::io::{Live, Stage};
use super::reply::Source;
use crate::inflight::Charge;

/// Unread bytes of a body that are discarded to keep a connection; beyond them, closing is cheaper.
const DRAIN_BYTES_MAX: u64 = 256 * 1024;

/// Bytes of memory that are reserved because a client announces the length of its body.
const CLAIMED_BYTES_MAX: u64 = 16 * 1024;

/// Bytes of a body after which memory for all of it is reserved: its client means to send it.
const EARNEST_BYTES: usize = 1 << 20;

/// Bytes that are read of a long body at once; reads grow while they find so much.
const READ_BYTES_MAX: usize = 256 * 1024;

/// The reason why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Longer than the caller allows: 413.
    #[error("the request body is longer than {0} bytes")]
    TooLong(u64),
    /// Not framed as the head announced: 400.
    #[error("the request body is not framed as announced")]
    Malformed,
    /// Slower than the limits allow: 408.
    #[error(
        "the request body arrived too slowly (`receive_timeout`, `body_timeout` or `rate_min` of \
         [limits])"
    )]
    TooSlow,
    /// Longer than its client may ever hold: 413.
    #[error(
        "the request body is longer than the {0} bytes that one client may hold \
         (`limits.inflight_bytes`, `client_share`)"
    )]
    NeverFits(usize),
    /// There was no budget for it: 503.
    #[error("too many bytes of requests under way (`limits.inflight_bytes`); try again")]
    OverBudget,
    /// The client left.
    #[error("the client closed the connection within the request body")]
    Closed,
}

impl BodyError {
    /// Returns the status of the response to such a request.
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLong(_) | Self::NeverFits(_) => 413,
            Self::Malformed | Self::Closed => 400,
            Self::TooSlow => 408,
            Self::OverBudget => 503,
        }
    }
}

#[derive(Debug)]
enum Rest {
    Exact(u64),
    Chunked(Decoder),
    Done,
    Broken,
}

/// A request body, of which the role reads as much as it needs.
#[derive(Debug)]
pub struct Incoming<'c> {
    live: &'c Live,
    inbox: Option<Box<Buffers>>,
    /// Bytes at the start of the inbox that are consumed.
    taken: usize,
    rest: Rest,
    read_bytes: u64,
    /// Whether the last read filled the inbox.
    was_full: bool,
    /// The client waits for `100 Continue` before it sends the body.
    awaited: bool,
}

impl<'c> Incoming<'c> {
    pub(super) fn new(
        live: &'c Live,
        inbox: Option<Box<Buffers>>,
        length: BodyLength,
        awaited: bool,
    ) -> Self {
        let rest = match length {
            BodyLength::None => Rest::Done,
            BodyLength::Exact(bytes) => Rest::Exact(bytes),
            BodyLength::Chunked => Rest::Chunked(Decoder::new()),
        };
        Self { live, inbox, taken: 0, rest, read_bytes: 0, was_full: false, awaited }
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read_bytes
    }

    /// Returns the next piece; `None` at the end of the body.
    ///
    /// # Errors
    /// When the framing is broken, or the client leaves.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let piece = self.piece().await?;
        Ok(piece.map(|place| Bytes::copy_from_slice(self.received(place))))
    }

    /// Returns the range of the next piece in the inbox. It is valid until more bytes are received.
    async fn piece(&mut self) -> Result<Option<Range<usize>>, BodyError> {
        let ready = self.ready_piece();
        if self.awaited && matches!(ready, Ok(None)) && !self.is_done() {
            self.awaited = false;
            let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
            self.live.write_all(go_on, b"").await.map_err(|_| BodyError::Closed)?;
        }
        match ready {
            Ok(None) => poll_fn(|cx| self.poll_receive(cx)).await,
            ready => self.noted(ready),
        }
    }

    /// Receives bytes until there is a piece, or the body ends.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Range<usize>>, BodyError>> {
        loop {
            let ready = self.ready_piece();
            if !matches!(ready, Ok(None)) || self.is_done() {
                return Poll::Ready(self.noted(ready));
            }
            self.compact();
            self.widen();
            if self.live.stage() != Stage::Body {
                self.live.enter(Stage::Body);
            }
            if self.live.is_late() {
                return Poll::Ready(self.noted(Err(BodyError::TooSlow)));
            }
            let Poll::Ready(filled) = self.live.poll_fill(cx, &mut self.inbox) else {
                self.live.wake_when_late(cx);
                return Poll::Pending;
            };
            self.live.enter(Stage::Answering);
            match filled {
                Ok(bytes) if bytes > 0 => {
                    let inbox = self.inbox.as_deref();
                    self.was_full = inbox.is_some_and(|inbox| inbox.filled == inbox.inbox.len());
                }
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    return Poll::Ready(self.noted(Err(BodyError::OverBudget)));
                }
                _ => return Poll::Ready(self.noted(Err(BodyError::Closed))),
            }
        }
    }

    /// Notes that nothing more can be read after an error.
    fn noted<T>(&mut self, read: Result<T, BodyError>) -> Result<T, BodyError> {
        if read.is_err() {
            self.rest = Rest::Broken;
        }
        read
    }

    /// Returns the whole body, and charges it.
    ///
    /// # Errors
    /// When it is longer than `bytes_max`, when there is no budget for it, or as for
    /// [`Self::chunk`].
    pub async fn whole(
        &mut self,
        bytes_max: u64,
        charge: &mut Charge,
    ) -> Result<Vec<u8>, BodyError> {
        self.check_length(bytes_max)?;
        let mut whole = self.reserved();
        let mut is_earnest = false;
        while self.read_more(&mut whole, charge).await? {
            if whole.len() as u64 > bytes_max {
                return Err(BodyError::TooLong(bytes_max));
            }
            if !is_earnest && whole.len() >= EARNEST_BYTES {
                is_earnest = true;
                // Untouched memory costs nothing, and growing step by step would copy the body.
                // Where there is no room for all of it, it grows as it comes.
                let left = self.announced().and_then(|bytes| usize::try_from(bytes).ok());
                let _ = whole.try_reserve_exact(left.unwrap_or(0));
            }
        }
        Ok(whole)
    }

    /// Returns at least the first `bytes` of the body, or all of it if it is shorter, and charges
    /// them.
    ///
    /// # Errors
    /// When there is no budget for them, or as for [`Self::chunk`].
    pub async fn beginning(
        &mut self,
        bytes: usize,
        charge: &mut Charge,
    ) -> Result<Vec<u8>, BodyError> {
        let mut beginning = self.reserved();
        while beginning.len() < bytes && self.read_more(&mut beginning, charge).await? {}
        Ok(beginning)
    }

    /// Returns the length that was announced and not read yet; `None` for a chunked body.
    pub fn announced(&self) -> Option<u64> {
        match self.rest {
            Rest::Exact(bytes) => Some(bytes),
            Rest::Done => Some(0),
            Rest::Chunked(_) | Rest::Broken => None,
        }
    }

    /// Checks the announced length against a bound.
    ///
    /// # Errors
    /// When it is longer.
    pub fn check_length(&self, bytes_max: u64) -> Result<(), BodyError> {
        match self.announced() {
            Some(bytes) if bytes > bytes_max => Err(BodyError::TooLong(bytes_max)),
            _ => Ok(()),
        }
    }

    /// Returns an empty buffer for the body.
    fn reserved(&self) -> Vec<u8> {
        Vec::with_capacity(self.announced().unwrap_or(0).min(CLAIMED_BYTES_MAX) as usize)
    }

    /// Appends the next piece; returns false at the end of the body.
    async fn read_more(
        &mut self,
        read: &mut Vec<u8>,
        charge: &mut Charge,
    ) -> Result<bool, BodyError> {
        let Some(place) = self.piece().await? else { return Ok(false) };
        if !charge.try_add(place.len()) {
            // What does not fit alone will not fit later either.
            let most = charge.bytes_max();
            let is_hopeless = charge.bytes() + place.len() > most;
            let error = match is_hopeless {
                true => BodyError::NeverFits(most),
                false => BodyError::OverBudget,
            };
            return self.noted(Err(error));
        }
        read.extend_from_slice(self.received(place));
        Ok(true)
    }

    /// Whether the whole body has been read.
    pub fn is_done(&self) -> bool {
        matches!(self.rest, Rest::Done)
    }

    /// Whether the rest may be short enough to discard; if not, closing is cheaper.
    pub(super) fn may_drain(&self) -> bool {
        match self.rest {
            Rest::Done => true,
            Rest::Broken => false,
            Rest::Exact(bytes) => !self.awaited && bytes <= DRAIN_BYTES_MAX,
            Rest::Chunked(_) => !self.awaited,
        }
    }

    /// Returns the bytes received behind a body that has been read to its end.
    pub(super) fn into_rest(mut self) -> Option<Box<Buffers>> {
        self.compact();
        self.inbox.take()
    }

    /// Reads and discards the rest; `None` when the connection must close.
    pub(super) async fn drain(mut self) -> Option<Option<Box<Buffers>>> {
        if !self.may_drain() {
            return None;
        }
        let limit = self.read_bytes + DRAIN_BYTES_MAX;
        while !self.is_done() {
            self.chunk().await.ok()?;
            if self.read_bytes > limit {
                return None;
            }
        }
        Some(self.into_rest())
    }

    fn received(&self, place: Range<usize>) -> &[u8] {
        self.inbox.as_deref().map_or(&[], |inbox| &inbox.inbox[place])
    }

    /// Takes a piece of the bytes received so far, and returns its range in the inbox.
    fn ready_piece(&mut self) -> Result<Option<Range<usize>>, BodyError> {
        let taken = self.taken;
        let inbox = self.inbox.as_deref();
        let received = inbox.map_or(&[][..], |inbox| &inbox.inbox[taken..inbox.filled]);
        let (skip, data) = match &mut self.rest {
            Rest::Done => return Ok(None),
            Rest::Broken => return Err(BodyError::Closed),
            Rest::Exact(left) => {
                let data = usize::try_from(*left).unwrap_or(usize::MAX).min(received.len());
                *left -= data as u64;
                if *left == 0 {
                    self.rest = Rest::Done;
                }
                (0, data)
            }
            Rest::Chunked(decoder) => match decoder.step(received) {
                Step::Data { skip, data } => (skip, data),
                Step::More { skip } => (skip, 0),
                Step::Done { skip } => {
                    self.rest = Rest::Done;
                    (skip, 0)
                }
                Step::Malformed => return Err(BodyError::Malformed),
            },
        };
        let piece = taken + skip..taken + skip + data;
        self.taken += skip + data;
        self.read_bytes += data as u64;
        Ok((data > 0).then_some(piece))
    }

    /// Doubles an empty inbox of a long body whose client sends faster than it is read.
    fn widen(&mut self) {
        let Some(inbox) = self.inbox.as_deref_mut().filter(|inbox| inbox.filled == 0) else {
            return;
        };
        let larger = inbox.inbox.len() * 2;
        if std::mem::take(&mut self.was_full)
            && larger <= READ_BYTES_MAX
            && matches!(self.rest, Rest::Exact(left) if left >= larger as u64)
        {
            inbox.inbox.resize(larger, 0);
        }
    }

    /// Moves the unconsumed bytes to the start of the inbox. This happens once per read. Once per
    /// piece, every tiny chunk would cost a large move.
    fn compact(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        if let Some(inbox) = self.inbox.as_deref_mut() {
            inbox.inbox.copy_within(taken..inbox.filled, 0);
            inbox.filled -= taken;
        }
    }
}

impl Source for Incoming<'_> {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let piece = ready!(self.poll_receive(cx));
        Poll::Ready(match piece {
            Ok(None) => None,
            Ok(Some(place)) => Some(Ok(Bytes::copy_from_slice(self.received(place)))),
            Err(error) => Some(Err(io::Error::other(error))),
        })
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if let Some(inbox) = self.inbox.take() {
            buffers::give(inbox);
        }
    }
}
