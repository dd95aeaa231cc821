//! Reads the body of a request as it arrives, whole or piece by piece.
//!
//! Invariant: it takes exactly the bytes that the framing announces, and none of the next request.
//! If the client waits for it, the first read that finds no bytes sends `100 Continue`. Bounds:
//! `whole` fails with 413 beyond the bytes that its caller allows. An announced length reserves at
//! most 1 MiB of memory. If the role leaves bytes unread, up to `DRAIN_BYTES_MAX` are read and
//! discarded; beyond that, or if the client still waits, the connection closes. A malformed or
//! truncated body stays so: each further read fails. Never here: what a body means, the timeout of
//! a piece (`connection`), the chunks (`http1::chunked`).

use std::ops::Range;

use bytes::Bytes;
use http1::chunked::{Decoder, Step};
use http1::request::BodyLength;

use super::buffers::{self, Buffers};
use super::io::{Live, Stage};

/// Unread bytes of a body that are discarded to keep a connection; beyond them, closing is cheaper.
const DRAIN_BYTES_MAX: u64 = 256 * 1024;

/// Bytes of memory that are reserved because a client announces the length of its body.
const CLAIMED_BYTES_MAX: u64 = 1 << 20;

/// The reason why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// Longer than the caller allows: 413.
    #[error("the request body is longer than {0} bytes")]
    TooLong(u64),
    /// Not framed as the head announced: 400.
    #[error("the request body is not framed as announced")]
    Malformed,
    /// The client left or was too slow.
    #[error("the client closed the connection within the request body")]
    Closed,
}

impl BodyError {
    /// Returns the status of the response to such a request.
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLong(_) => 413,
            Self::Malformed | Self::Closed => 400,
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
        Self { live, inbox, taken: 0, rest, read_bytes: 0, awaited }
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
        loop {
            match self.ready_piece() {
                Ok(Some(place)) => return Ok(Some(place)),
                Ok(None) if matches!(self.rest, Rest::Done) => return Ok(None),
                Ok(None) => {}
                Err(error) => {
                    self.rest = Rest::Broken;
                    return Err(error);
                }
            }
            if self.awaited {
                self.awaited = false;
                let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
                self.live.write_all(go_on, b"").await.map_err(|_| BodyError::Closed)?;
            }
            self.compact();
            self.live.enter(Stage::Receiving);
            let filled = self.live.fill(&mut self.inbox).await;
            self.live.enter(Stage::Answering);
            if filled.unwrap_or(0) == 0 {
                self.rest = Rest::Broken;
                return Err(BodyError::Closed);
            }
        }
    }

    /// Returns the whole body.
    ///
    /// # Errors
    /// When it is longer than `bytes_max`, or as for [`Self::chunk`].
    pub async fn whole(&mut self, bytes_max: u64) -> Result<Vec<u8>, BodyError> {
        if matches!(self.rest, Rest::Exact(bytes) if bytes > bytes_max) {
            return Err(BodyError::TooLong(bytes_max));
        }
        let mut whole = match self.rest {
            Rest::Exact(bytes) => Vec::with_capacity(bytes.min(CLAIMED_BYTES_MAX) as usize),
            _ => Vec::new(),
        };
        while let Some(place) = self.piece().await? {
            if (whole.len() + place.len()) as u64 > bytes_max {
                return Err(BodyError::TooLong(bytes_max));
            }
            whole.extend_from_slice(self.received(place));
        }
        Ok(whole)
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

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if let Some(inbox) = self.inbox.take() {
            buffers::give(inbox);
        }
    }
}
