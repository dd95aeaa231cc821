//! Requests to change the protocol, each on a connection of its own (RFC 9110 §7.8).
//!
//! Invariants: the far side of a tunnel exists only when the server has answered 101 with one of
//! the protocols it was offered; any other answer is an ordinary one. The connection is never used
//! for another request, and takes one of the server's places as long as it lasts.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::{self, HeaderMap};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use metrics::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use super::{FetchError, Lent, Pool, Request, Response, UpstreamBody, class, framing};

/// What a server said to the offer.
#[derive(Debug)]
pub enum Switched {
    /// It speaks the other protocol; these are the fields it said so with.
    Far(HeaderMap, Far),
    /// It answers as it would have without the offer.
    Stayed(Response),
}

/// A server that speaks another protocol.
#[derive(Debug)]
pub struct Far {
    io: TokioIo<Upgraded>,
    _lent: Lent,
    shown: Option<Gauge>,
}

impl Pool {
    /// Sends a request that offers other protocols, as its `Upgrade` field says; `key` as for
    /// [`Pool::send`].
    ///
    /// # Errors
    /// When no server answered, or one changed to what it was not offered.
    pub async fn switch(&self, request: Request, key: &[u8]) -> Result<Switched, FetchError> {
        let server = self.choose(key, None).ok_or(FetchError::Unhealthy)?;
        let mut lent = self.lend(server)?;
        let (mut sender, connection) = self.open(server).await?;
        tokio::task::spawn_local(async move {
            // The request that is under way learns of the connection's end by itself.
            let _ = connection.with_upgrades().await;
        });
        let offered = request.headers().get(header::UPGRADE).cloned();
        let limit = self.upstream.answer_timeout;
        let answer = timeout(limit, sender.send_request(request)).await;
        let answer = answer.map_err(|_| FetchError::Timeout)?.map_err(|error| class(&error))?;
        if answer.status() != http::StatusCode::SWITCHING_PROTOCOLS {
            framing::ends_beyond_doubt(&answer)?;
            lent.sender = Some(sender);
            let limit = self.upstream.piece_timeout;
            return Ok(Switched::Stayed(answer.map(|body| UpstreamBody::new(body, lent, limit))));
        }
        let offered = offered.as_ref().and_then(|offered| offered.to_str().ok()).unwrap_or("");
        if !was_offered(answer.headers(), offered) {
            return Err(FetchError::Malformed);
        }
        let headers = answer.headers().clone();
        let io = timeout(limit, hyper::upgrade::on(answer)).await;
        let io = io.map_err(|_| FetchError::Timeout)?.map_err(|error| class(&error))?;
        Ok(Switched::Far(headers, Far { io: TokioIo::new(io), _lent: lent, shown: None }))
    }
}

/// Whether a 101 names protocols, and only such as were offered.
fn was_offered(headers: &HeaderMap, offered: &str) -> bool {
    let lines = headers.get_all(header::UPGRADE).iter().map(|line| line.to_str().unwrap_or("?"));
    let mut chosen = lines.flat_map(|line| line.split(',')).map(str::trim).peekable();
    chosen.peek().is_some()
        && chosen.all(|chosen| offered.split(", ").any(|one| one.eq_ignore_ascii_case(chosen)))
}

impl Far {
    /// Counts in `gauge` as long as it lasts.
    #[must_use]
    pub fn shown_in(mut self, gauge: &Gauge) -> Self {
        gauge.add(1);
        self.shown = Some(gauge.clone());
        self
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if let Some(gauge) = &self.shown {
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
        Pin::new(&mut self.io).poll_read(cx, space)
    }
}

impl AsyncWrite for Far {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
