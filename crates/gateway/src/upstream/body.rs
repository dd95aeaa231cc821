//! The body of an upstream's answer, under a time limit between its pieces.
//!
//! Invariant: the connection goes back to its pool when the body is read to its end, and is closed
//! when it is not; hyper stops polling at `Content-Length`, so this happens in `Drop`.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use chassis::http::Source;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, Sleep, sleep};

use super::Lent;
use crate::error::FetchError;

/// A body that is being read.
#[derive(Debug)]
pub struct UpstreamBody {
    incoming: Incoming,
    lent: Option<Lent>,
    /// Read to its end; hyper tells so afterwards only of bodies with a length.
    ended: bool,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl UpstreamBody {
    pub(super) fn new(incoming: Incoming, lent: Lent, limit: Duration) -> Self {
        Self { incoming, lent: Some(lent), ended: false, limit, timer: None }
    }

    /// Length as announced, when it is.
    pub fn length(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// Reads up to `bytes_max` bytes; the pieces read, and whether that is all of it.
    ///
    /// # Errors
    /// When the body breaks off or stalls.
    pub async fn read_up_to(&mut self, bytes_max: u64) -> Result<(Vec<Bytes>, bool), FetchError> {
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
        loop {
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.timer = None;
                    if let Ok(piece) = frame.into_data() {
                        return Poll::Ready(Some(Ok(piece)));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    self.forsake();
                    return Poll::Ready(Some(Err(FetchError::Closed)));
                }
                Poll::Ready(None) => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Poll::Pending => break,
            }
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        if timer.deadline() <= Instant::now() || timer.as_mut().poll(cx).is_ready() {
            self.forsake();
            return Poll::Ready(Some(Err(FetchError::Timeout)));
        }
        Poll::Pending
    }

    /// Gives the connection up: it is in the middle of a body.
    fn forsake(&mut self) {
        if let Some(lent) = &mut self.lent {
            lent.sender = None;
        }
        self.lent = None;
    }
}

impl Source for UpstreamBody {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.poll(cx).map(|piece| piece.map(|piece| piece.map_err(io::Error::other)))
    }
}

impl Drop for UpstreamBody {
    fn drop(&mut self) {
        if !self.ended && !self.incoming.is_end_stream() {
            self.forsake();
        }
    }
}
