//! Reads the body of a response as it arrives, with a timeout between its pieces.
//!
//! Invariants: a body ends only where its framing says; if it ends earlier, that is an error. The
//! connection is given back when the end has been read; otherwise it is closed. A piece is a part
//! of the read buffer, without a copy. Trailers are discarded. Bounds: `piece_timeout` while
//! somebody waits for a piece; callers that read ahead name a number of bytes. A body of a client
//! that does not read has no timeout here (`chassis::http`). What is left of the request after an
//! early response is sent meanwhile. Never here: storing (`fetch::storing`), encoding
//! (`reply::streaming`), the chunks (`http1::chunked`).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use chassis::http::Source;
use http1::chunked::{Decoder, Step};
use tokio::time::{Sleep, sleep, timeout};

use super::connections::Lent;
use crate::error::FetchError;
use http1::framing::Length;

/// A body that is being read.
#[derive(Debug)]
pub(crate) struct UpstreamBody {
    /// The connection; none after the end or an error.
    lent: Option<Lent>,
    /// The error with which it ended early.
    broken: Option<FetchError>,
    /// Pieces that were read ahead.
    read_ahead: VecDeque<Bytes>,
    rest: Rest,
    length: Option<u64>,
    /// The unsent rest of the request, if the response came early.
    unsent: Bytes,
    piece_timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// The rest of a body.
#[derive(Debug)]
pub(super) enum Rest {
    Exact(u64),
    Chunked(Decoder),
    UntilClose,
}

/// What the read buffer holds of a body.
pub(super) enum BodyStep {
    Piece(Bytes),
    Nothing,
    End,
}

impl UpstreamBody {
    pub(super) fn new(length: Length, lent: Lent, unsent: Bytes, piece_timeout: Duration) -> Self {
        let rest = Rest::of(length);
        let length = if let Rest::Exact(bytes) = rest { Some(bytes) } else { None };
        let mut body = Self {
            lent: Some(lent),
            broken: None,
            read_ahead: VecDeque::new(),
            rest,
            length,
            unsent,
            piece_timeout,
            timer: None,
        };
        if length == Some(0) {
            body.end();
        }
        body
    }

    /// Returns its length, if the framing announces one.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Takes the whole body, if it has an announced length and has arrived already.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        if self.lent.is_none() && self.broken.is_none() && self.read_ahead.len() == 1 {
            return self.read_ahead.pop_front();
        }
        let inbox = self.lent.as_mut()?.connection.inbox();
        let length = usize::try_from(self.length?).ok().filter(|length| *length <= inbox.len())?;
        let whole = inbox.split_to(length).freeze();
        self.end();
        Some(whole)
    }

    /// Reads a body of at most `bytes_max` bytes before its consumer asks for it, for at most
    /// `time_max`. The rest is read later as usual.
    ///
    /// # Errors
    /// When the body ends early or stalls.
    pub(crate) async fn read_ahead(
        &mut self,
        bytes_max: u64,
        time_max: Duration,
    ) -> Result<(), FetchError> {
        let Some(length) = self.length.filter(|length| *length <= bytes_max) else { return Ok(()) };
        let here = self.lent.as_mut().map_or(0, |lent| lent.connection.inbox().len());
        if here as u64 >= length {
            return Ok(());
        }
        let read = poll_fn(|cx| {
            while let Some(piece) = ready!(self.poll_wire(cx)) {
                self.read_ahead.push_back(piece?);
            }
            Poll::Ready(Ok(()))
        });
        timeout(time_max, read).await.unwrap_or(Ok(()))
    }

    /// Reads the body until it ends or exceeds `bytes_max` bytes. Returns the pieces, and whether
    /// they are the whole body.
    ///
    /// # Errors
    /// When the body ends early or stalls.
    pub(crate) async fn read_up_to(
        &mut self,
        bytes_max: u64,
    ) -> Result<(Vec<Bytes>, bool), FetchError> {
        let (mut pieces, mut total) = (Vec::new(), 0);
        while let Some(piece) = poll_fn(|cx| self.poll(cx)).await {
            let piece = piece?;
            total += piece.len() as u64;
            pieces.push(piece);
            if total > bytes_max {
                return Ok((pieces, false));
            }
        }
        Ok((pieces, true))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        match self.read_ahead.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => self.poll_wire(cx),
        }
    }

    fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        let Some(lent) = &mut self.lent else { return Poll::Ready(self.broken.map(Err)) };
        loop {
            match self.rest.find(lent.connection.inbox()) {
                Ok(BodyStep::Piece(piece)) => {
                    self.timer = None;
                    // With a known length no further read is needed.
                    if matches!(self.rest, Rest::Exact(0)) {
                        self.end();
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                Ok(BodyStep::End) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Ok(BodyStep::Nothing) => {}
                Err(error) => return self.break_off(error),
            }
            lent.connection.send_on(cx, &mut self.unsent);
            match lent.connection.poll_read(cx) {
                Poll::Ready(Ok(0)) if matches!(self.rest, Rest::UntilClose) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Poll::Ready(Ok(0) | Err(_)) => return self.break_off(FetchError::Closed),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => break,
            }
        }
        let timeout = self.piece_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => self.break_off(FetchError::Timeout),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Gives the connection back, because the whole body has been read.
    fn end(&mut self) {
        self.timer = None;
        self.lent.take().into_iter().for_each(Lent::give_back);
    }

    /// Closes the connection in the middle of a body.
    fn break_off<T>(&mut self, error: FetchError) -> Poll<Option<Result<T, FetchError>>> {
        self.timer = None;
        self.lent.take().into_iter().for_each(|lent| lent.give_up(error));
        self.broken = Some(error);
        Poll::Ready(Some(Err(error)))
    }
}

impl Rest {
    /// Returns the whole of a body with this framing.
    pub(super) fn of(length: Length) -> Self {
        match length {
            Length::Exact(bytes) => Self::Exact(bytes),
            Length::Chunked => Self::Chunked(Decoder::of_answer()),
            Length::UntilClose => Self::UntilClose,
        }
    }

    /// Takes the next piece of the body out of the received bytes.
    pub(super) fn find(&mut self, inbox: &mut BytesMut) -> Result<BodyStep, FetchError> {
        let length = match self {
            Self::Exact(0) => return Ok(BodyStep::End),
            Self::Exact(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(inbox.len());
                *left -= length as u64;
                length
            }
            Self::UntilClose => inbox.len(),
            Self::Chunked(decoder) => {
                let (skip, data) = match decoder.step(inbox) {
                    Step::Data { skip, data } => (skip, data),
                    Step::More { skip } => (skip, 0),
                    Step::Done { skip } => {
                        inbox.advance(skip);
                        return Ok(BodyStep::End);
                    }
                    Step::Malformed => return Err(FetchError::Malformed),
                };
                inbox.advance(skip);
                data
            }
        };
        match length {
            0 => Ok(BodyStep::Nothing),
            length => Ok(BodyStep::Piece(inbox.split_to(length).freeze())),
        }
    }
}

impl Source for UpstreamBody {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.poll(cx).map(|piece| piece.map(|piece| piece.map_err(io::Error::other)))
    }
}
