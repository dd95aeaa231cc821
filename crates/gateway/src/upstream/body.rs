//! Reads the body of a response as it arrives, with a timeout between its pieces.
//!
//! Invariants: a body ends only where its framing says; if it ends earlier, that is an error. The
//! connection is given back when the end has been read; otherwise it is closed. A piece is a part
//! of the read buffer, without a copy. Trailers are discarded. Bounds: `piece_timeout` while
//! somebody waits for a piece. While a client does not read, the body is read ahead as far as its
//! budget allows, so that the connection is free early. Such a client has no timeout here
//! (`chassis::http`). What is left of the request after an early response is sent meanwhile. Never
//! here: storing (`fetch::storing`), encoding (`reply::streaming`), the chunks (`http1::chunked`).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use chassis::Charge;
use chassis::http::Source;
use http1::chunked::{Decoder, Step};
use tokio::time::{Sleep, sleep, timeout, timeout_at};

use super::connections::Lent;
use super::dispatch::Dispatch;
use super::read_ahead::ReadAhead;
use super::upload::Upload;
use crate::error::FetchError;
use http1::framing::Length;

/// The share of a lease after which a body that is still arriving is not read whole.
const READING_SHARE: f64 = 0.9;

/// A body that is being read.
#[derive(Debug)]
pub(crate) struct UpstreamBody {
    /// The connection; none after the end or an error.
    lent: Option<Lent>,
    /// The error with which it ended early.
    broken: Option<FetchError>,
    /// Whether all of it was read while the request is still being sent.
    is_over: bool,
    read_ahead: ReadAhead,
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
    pub(super) fn new(
        length: Length,
        lent: Lent,
        unsent: Bytes,
        piece_timeout: Duration,
        read_ahead: ReadAhead,
    ) -> Self {
        let rest = Rest::of(length);
        let length = if let Rest::Exact(bytes) = rest { Some(bytes) } else { None };
        let mut body = Self {
            lent: Some(lent),
            broken: None,
            is_over: false,
            read_ahead,
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
        if self.lent.is_none() && self.broken.is_none() {
            return self.read_ahead.pop_only();
        }
        // What was read ahead comes before the inbox.
        if self.read_ahead.bytes() > 0 {
            return None;
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
                if !self.read_ahead.push_spare(piece?) {
                    break;
                }
            }
            Poll::Ready(Ok(()))
        });
        timeout(time_max, read).await.unwrap_or(Ok(()))
    }

    /// Reads the body ahead until it ends. Returns false if it exceeds `bytes_max` bytes, or the
    /// budget of its client. Also near the end of a `lease` since `begun`, if pieces still arrive:
    /// one that stalls is left to the lease. Then the rest is read later as usual.
    ///
    /// # Errors
    /// When the body ends early or stalls.
    pub(crate) async fn read_whole(
        &mut self,
        bytes_max: u64,
        (begun, lease): (Instant, Duration),
    ) -> Result<bool, FetchError> {
        let deadline = begun + lease.mul_f64(READING_SHARE);
        let mut arrived = Instant::now();
        loop {
            let next = poll_fn(|cx| self.poll_wire(cx));
            let piece = match arrived + lease / 4 > deadline {
                true => timeout_at(deadline.into(), next).await,
                false => Ok(next.await),
            };
            let Ok(piece) = piece else { return Ok(false) };
            let Some(piece) = piece else { return Ok(true) };
            arrived = Instant::now();
            let fits = self.read_ahead.push_needed(piece?);
            if !fits || self.read_ahead.bytes() as u64 > bytes_max {
                return Ok(false);
            }
        }
    }

    /// Takes what was read ahead, with its charge.
    pub(crate) fn take_read(&mut self) -> (Vec<Bytes>, Option<Charge>) {
        self.read_ahead.take_all()
    }

    /// Sends the rest of an upload, whose response came early. Meanwhile it reads the response
    /// ahead, because the server may wait for that. The connection stays until both are over.
    ///
    /// # Errors
    /// When the client does not send its body, and when the server stalls.
    pub(super) async fn finish_upload(
        &mut self,
        dispatch: Dispatch<'_, '_>,
        upload: &Upload<'_>,
    ) -> Result<(), FetchError> {
        let finished = poll_fn(|cx| self.poll_upload(cx, dispatch, upload)).await;
        if let Some(lent) = &mut self.lent {
            lent.uploading = false;
        }
        if self.is_over {
            self.end();
        }
        finished
    }

    fn poll_upload(
        &mut self,
        cx: &mut Context<'_>,
        dispatch: Dispatch<'_, '_>,
        upload: &Upload<'_>,
    ) -> Poll<Result<(), FetchError>> {
        loop {
            let Some(lent) = &mut self.lent else { return Poll::Ready(Ok(())) };
            let before = lent.connection.sent();
            match lent.connection.poll_send(cx, dispatch) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => return self.break_off::<()>(error).map(|_| Err(error)),
                Poll::Pending if lent.connection.sent() > before => self.timer = None,
                Poll::Pending => {}
            }
            // Beyond the budget, the rest of the response waits until the upload is over.
            if self.is_over || self.read_ahead.is_full() {
                break;
            }
            match self.poll_arrived(cx) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok(piece))) => drop(self.read_ahead.push_needed(piece)),
                Poll::Ready(Some(Err(_)) | None) => {}
            }
        }
        // How slow a client may be is not for the server's timeout to say.
        if upload.awaits_client() && !self.is_over {
            self.timer = None;
            return Poll::Pending;
        }
        let stalled = ready!(self.poll_timer(cx));
        // With the whole response here, nobody need wait for the request any longer.
        if self.is_over {
            return Poll::Ready(Ok(()));
        }
        self.break_off::<()>(stalled).map(|_| Err(stalled))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        match self.read_ahead.pop() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => self.poll_wire(cx),
        }
    }

    /// Polls for the next piece from the server, within the timeout of a piece.
    fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        match self.poll_arrived(cx) {
            Poll::Pending => self.poll_stalled(cx),
            arrived => arrived,
        }
    }

    /// Breaks off when the server has sent nothing for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        let stalled = ready!(self.poll_timer(cx));
        self.break_off(stalled)
    }

    /// Waits for the timeout of a piece, which counts from the last progress.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<FetchError> {
        let timeout = self.piece_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx).map(|()| FetchError::Timeout)
    }

    /// Polls for a piece that has arrived.
    fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, FetchError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
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
            match ready!(lent.connection.poll_read(cx)) {
                Ok(0) if matches!(self.rest, Rest::UntilClose) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Ok(0) | Err(_) => return self.break_off(FetchError::Closed),
                Ok(_) => {}
            }
        }
    }

    /// Gives the connection back, because the whole body has been read.
    fn end(&mut self) {
        self.timer = None;
        if self.lent.as_ref().is_some_and(|lent| lent.uploading) {
            self.is_over = true;
            return;
        }
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

    fn read_ahead(&mut self, cx: &mut Context<'_>) {
        // An error shows when the pieces before it are taken.
        while self.lent.is_some()
            && !self.read_ahead.is_full()
            && let Poll::Ready(Some(Ok(piece))) = self.poll_arrived(cx)
        {
            self.read_ahead.push_spare(piece);
        }
    }
}
