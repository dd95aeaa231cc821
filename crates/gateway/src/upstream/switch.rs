//! Sends requests that offer an upgrade, each on a new connection (RFC 9110 §7.8).
//!
//! Invariants: the far side of a tunnel exists only after the server has answered 101 with offered
//! protocols. A 101 with another one, or with none, is malformed. Any other response is an ordinary
//! one. The connection is never reused. It takes one of `tunnels_max` places as long as it
//! lasts; a worker stays on loan. Bytes behind the 101 are read first. Never here: which offers
//! are allowed (`upgrade`), passing bytes and timeouts (`chassis::http`).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use metrics::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connections::{Lent, Permit};
use super::dispatch::Dispatch;
use super::pool::UpstreamPool;
use super::response::Response;
use super::stream::UpstreamStream;
use crate::clients::CountedTunnel;
use crate::error::FetchError;
use http1::FieldLines;
use http1::fields::text;

/// The response of a server to the offer.
#[derive(Debug)]
pub(crate) enum Switched {
    /// It has switched the protocol; these are the fields of its 101.
    Far(FieldLines, Box<Far>),
    /// It has sent an ordinary response.
    Stayed(Box<Response>),
}

/// The far side of a tunnel: a server that has switched the protocol.
#[derive(Debug)]
pub(crate) struct Far {
    stream: UpstreamStream,
    /// The bytes that it sent behind its 101.
    early: Bytes,
    _permit: Permit,
    shown: Option<(Gauge, CountedTunnel)>,
}

impl UpstreamPool {
    /// Sends a request that offers other protocols.
    ///
    /// # Errors
    /// When there is no response, or a 101 for a protocol that was not offered.
    pub(crate) async fn switch(&self, dispatch: Dispatch<'_, '_>) -> Result<Switched, FetchError> {
        let (head, lent) = self.send_alone(dispatch).await?;
        if head.status != 101 {
            let piece_timeout = self.upstream().plan.piece_timeout;
            let response = Response::alone(dispatch, head, lent, piece_timeout);
            return Ok(Switched::Stayed(Box::new(response)));
        }
        let Lent { connection, permit, asked, .. } = lent;
        if !was_offered(&head.fields, dispatch.request.offered()) {
            asked.into_iter().for_each(|asked| asked.ended(Some(FetchError::Malformed)));
            return Err(FetchError::Malformed);
        }
        asked.into_iter().for_each(|asked| asked.ended(None));
        let (stream, early) = connection.into_parts();
        let far = Far { stream, early, _permit: permit, shown: None };
        Ok(Switched::Far(head.fields, Box::new(far)))
    }
}

/// Whether a 101 names protocols, and each was offered.
fn was_offered(headers: &FieldLines, offered: &[u8]) -> bool {
    let offered = text(offered).unwrap_or("");
    let lines = headers.all("upgrade").map(|line| text(line).unwrap_or("?"));
    let mut chosen = lines.flat_map(|line| line.split(',')).map(str::trim).peekable();
    chosen.peek().is_some()
        && chosen.all(|chosen| offered.split(", ").any(|one| one.eq_ignore_ascii_case(chosen)))
}

impl Far {
    /// Counts it in `gauge`, and among its client's tunnels, as long as it lasts.
    #[must_use]
    pub(crate) fn shown_in(mut self, gauge: &Gauge, of_client: CountedTunnel) -> Self {
        gauge.add(1);
        self.shown = Some((gauge.clone(), of_client));
        self
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if let Some((gauge, _)) = &self.shown {
            gauge.add(-1);
        }
    }
}

impl AsyncRead for Far {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, space);
        }
        let length = self.early.len().min(space.remaining());
        space.put_slice(&self.early[..length]);
        self.early.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Far {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
