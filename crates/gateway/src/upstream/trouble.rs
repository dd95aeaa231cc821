//! Judges a server by what becomes of requests, beside its probes: is it reached, does it answer?
//!
//! Invariants: a server that takes no connection is in trouble at once, and until it takes one; so
//! is one at which `failures` requests in a row have failed, until one is answered. A server in
//! trouble is asked only where no other is left: while it takes no connection, or for `pause` after
//! each failure. A connection that nobody can make would never be tried again while no request
//! comes. So whoever finds the first refusal starts [`knock`], which tries until it is taken. The
//! log and the alarms say when trouble begins and ends, the log once in `SAID_EVERY` for a server.
//! A client that leaves, and a request whose own deadline has passed, say nothing of the server.
//! Without trouble a request costs two atomic loads. Never here: probes (`health`), the choice of a
//! server (`servers`), retries.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::server::{Upstream, UpstreamServer};
use crate::error::FetchError;
use crate::plan::PassivePlan;

/// Time between two tries to connect to a server that takes no connection.
const KNOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Least time between two lines of the log that say that one server is in trouble.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// The errors of a connection that say something of the server, or of the way to it.
const OF_SERVER: [ErrorKind; 5] = [
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::TimedOut,
];

/// What requests have met at a server.
#[derive(Debug)]
pub struct Trouble {
    /// The time from which `paused_until` counts.
    base: Instant,
    /// Whether the last connection could not be made.
    is_unreachable: AtomicBool,
    /// Requests in a row that have failed.
    failures: AtomicU32,
    /// Milliseconds until which only a request without another server comes here.
    paused_until: AtomicU64,
    said: Mutex<Said>,
}

/// What was said of it.
#[derive(Debug, Default)]
struct Said {
    /// Since when it is in trouble.
    since: Option<Instant>,
    /// What was met last.
    reason: String,
    /// When the log said so last.
    logged: Option<Instant>,
    /// Whether the log has said so of this trouble, so that it says the end, too.
    is_logged: bool,
}

impl Trouble {
    pub(super) fn none() -> Self {
        Self {
            base: Instant::now(),
            is_unreachable: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            paused_until: AtomicU64::new(0),
            said: Mutex::default(),
        }
    }

    /// Whether it takes no connection.
    pub fn is_unreachable(&self) -> bool {
        self.is_unreachable.load(Ordering::Relaxed)
    }

    /// Whether another server is asked, if there is one.
    pub fn is_out(&self) -> bool {
        if self.is_unreachable() {
            return true;
        }
        let until = self.paused_until.load(Ordering::Relaxed);
        until > 0 && self.millis() < until
    }

    /// Returns what is wrong, and for how long, if anything is.
    pub fn text(&self) -> Option<String> {
        let said = self.said.lock();
        let seconds = said.since?.elapsed().as_secs();
        Some(format!("{}, for {seconds} s", said.reason))
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes trouble; returns whether the log is to say so.
    fn begin(&self, reason: String) -> bool {
        let mut said = self.said.lock();
        said.reason = reason;
        if said.since.is_some() {
            return false;
        }
        let now = Instant::now();
        said.since = Some(now);
        said.is_logged = said.logged.is_none_or(|logged| now >= logged + SAID_EVERY);
        if said.is_logged {
            said.logged = Some(now);
        }
        said.is_logged
    }

    /// Notes the end of trouble; returns how long it took if the log is to say so.
    fn end(&self) -> Option<Duration> {
        let mut said = self.said.lock();
        let since = said.since.take()?;
        said.is_logged.then(|| since.elapsed())
    }

    fn is_failing(&self, plan: &PassivePlan) -> bool {
        plan.failures > 0 && self.failures.load(Ordering::Relaxed) >= plan.failures
    }
}

impl Upstream {
    /// Notes that a connection could not be made.
    pub(super) fn note_unreachable(self: &Arc<Self>, server: &Arc<UpstreamServer>, error: &Error) {
        // That this machine has no file descriptor or port left says nothing of the server.
        if !OF_SERVER.contains(&error.kind()) {
            return;
        }
        let trouble = &server.trouble;
        let was_reachable = !trouble.is_unreachable.swap(true, Ordering::Relaxed);
        if trouble.begin(format!("takes no connections ({error})")) {
            let (upstream, server) = (&*self.plan.name, server.address);
            tracing::warn!(upstream, %server, %error, "a server takes no connections");
        }
        if was_reachable {
            self.judge();
            tokio::task::spawn_local(knock(Arc::clone(self), Arc::clone(server)));
        }
    }

    /// Notes that a connection was made.
    pub(super) fn note_reached(&self, server: &UpstreamServer) {
        let trouble = &server.trouble;
        if trouble.is_unreachable() && trouble.is_unreachable.swap(false, Ordering::Relaxed) {
            self.judge();
            if !trouble.is_failing(&self.plan.passive) {
                self.say_end(server, "a server takes connections again");
            }
        }
    }

    /// Notes what became of a request at a server. `None` says that it was answered.
    pub(super) fn note_outcome(&self, server: &UpstreamServer, error: Option<FetchError>) {
        let (trouble, plan) = (&server.trouble, &self.plan.passive);
        match error {
            None if trouble.failures.load(Ordering::Relaxed) == 0 => {}
            None => {
                trouble.failures.store(0, Ordering::Relaxed);
                trouble.paused_until.store(0, Ordering::Relaxed);
                if !trouble.is_unreachable() {
                    self.say_end(server, "a server answers again");
                }
            }
            // Where no connection is made, connections count, not requests.
            Some(_) if trouble.is_unreachable() => {}
            Some(error) if error.is_of_server() => {
                let failures = trouble.failures.fetch_add(1, Ordering::Relaxed) + 1;
                if !trouble.is_failing(plan) {
                    return;
                }
                let pause = u64::try_from(plan.pause.as_millis()).unwrap_or(u64::MAX);
                let until = trouble.millis().saturating_add(pause);
                trouble.paused_until.store(until, Ordering::Relaxed);
                if trouble.begin(format!("the last {failures} requests failed ({error})")) {
                    let (upstream, server) = (&*self.plan.name, server.address);
                    tracing::warn!(upstream, %server, failures, %error, "a server does not answer");
                }
            }
            Some(_) => {}
        }
    }

    fn say_end(&self, server: &UpstreamServer, message: &str) {
        if let Some(took) = server.trouble.end() {
            let (upstream, server) = (&*self.plan.name, server.address);
            tracing::info!(upstream, %server, seconds = took.as_secs(), "{message}");
        }
    }
}

/// Tries to connect to a server until it takes a connection, or has left the upstream.
async fn knock(upstream: Arc<Upstream>, server: Arc<UpstreamServer>) {
    loop {
        sleep(KNOCK_INTERVAL).await;
        if !server.trouble.is_unreachable() || !upstream.has(&server) {
            return;
        }
        let connect = TcpStream::connect(server.address);
        if let Ok(Ok(_)) = timeout(upstream.plan.connect_timeout, connect).await {
            return upstream.note_reached(&server);
        }
    }
}
