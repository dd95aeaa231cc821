//! Listens for Prometheus: HTTP on a thread of its own.
//!
//! `GET` and `HEAD` of `/metrics` are answered, in the format that `Accept` likes better
//! (`text.rs`). Other paths get 404, other methods 405. There is neither TLS nor a password.
//! Bounds: 64 connections; requests that are under way at the end have a second.
//! The path also stands in the address that `plugins/munin/tidegate_` and `tidegate statsd munin`
//! ask by default.
//! Never here: what is on the page, which the function that [`PageListener::start`] takes renders;
//! HTTP itself (`chassis`); the page of `serve`'s admin listener.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use chassis::http::{Answer, Incoming, Payload, Reply, Sent};
use chassis::{Cores, Drain, Limits, Listener};
use http1::Head;

use super::text::Format;

/// Where the page is.
const PATH: &str = "/metrics";
const CONNECTIONS_MAX: usize = 64;
/// How long requests may take that are under way when the server ends.
const GRACE: Duration = Duration::from_secs(1);

/// A bound listener that nobody answers at yet.
#[derive(Debug)]
pub(crate) struct PageListener(Listener);

impl PageListener {
    /// Binds an address.
    ///
    /// # Errors
    /// When it is taken or not ours.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut listeners = chassis::bind(address, 1)?;
        listeners.pop().map(Self).ok_or_else(|| io::Error::other("no socket was bound"))
    }

    /// Starts to answer with what `page` returns.
    ///
    /// # Errors
    /// When there is no thread left.
    pub(crate) fn start(
        self,
        page: impl Fn(Format) -> Vec<u8> + Send + 'static,
    ) -> io::Result<PageServer> {
        let drain = Drain::default();
        let parts = vec![(self.0, ScrapeRole(page), drain.draining())];
        let threads =
            Cores::start("statsd scrape", parts, |_, (listener, role, draining)| async {
                let limits = Limits { connections_max: CONNECTIONS_MAX, ..Limits::default() };
                if let Err(error) = listener.serve(Rc::new(role), limits, draining).await {
                    tracing::error!(%error, "the listener for Prometheus failed");
                }
            })?;
        Ok(PageServer { drain, threads })
    }
}

/// The thread that answers.
#[derive(Debug)]
pub(crate) struct PageServer {
    drain: Drain,
    threads: Cores,
}

impl PageServer {
    /// Ends it.
    pub(crate) fn end(self) {
        self.drain.begin(GRACE);
        // One that panicked answers nobody.
        let _ = self.threads.join();
    }
}

/// Answers with the page that the function returns.
struct ScrapeRole<P>(P);

impl<P: Fn(Format) -> Vec<u8> + 'static> Answer for ScrapeRole<P> {
    type Trace = ();

    async fn answer(&self, head: &Head<'_>, _: &mut Incoming<'_>, reply: &mut Reply) {
        if head.path() != PATH {
            return reply.error(404, "no such page; there is /metrics");
        }
        if !matches!(head.method(), "GET" | "HEAD") {
            reply.error(405, "`/metrics` takes GET");
            return reply.field("allow", b"GET, HEAD");
        }
        let accept: Vec<&[u8]> = head.all("accept").collect();
        let format = Format::wanted(&String::from_utf8_lossy(&accept.join(&b',')));
        reply.begin(200);
        reply.field("content-type", format.content_type().as_bytes());
        reply.field("cache-control", b"no-store");
        reply.payload(Payload::Whole(Bytes::from((self.0)(format))));
    }

    fn sent(&self, _: &Head<'_>, (): (), _: &Sent) {}
}
