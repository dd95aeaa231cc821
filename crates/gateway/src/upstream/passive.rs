//! Notes what becomes of requests at servers, and tries to connect where no request does.
//!
//! Invariants: the log and the alarms tell when trouble begins and ends, the log at an interval at
//! most. A connection that nobody can make would never be tried again while no request comes. So
//! whoever finds the first refusal starts [`knock`], which tries until it is taken. For the same
//! reason [`look_at`] tries servers at which no request is answered. Of these tries, a server gets
//! one at a time. A head is no answer yet: [`Asked`] waits for the end of the body. A client that
//! leaves, and a request whose own deadline has passed, say nothing of the server. Neither does
//! this machine when it has no file descriptor or port left. Never here: what trouble is
//! (`trouble`), the choice of a server (`servers`), probes (`probe`).

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use chassis::Draining;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::server::{Upstream, UpstreamServer};
use crate::error::FetchError;

/// Time between two tries to connect to a server that takes no connection.
const KNOCK_INTERVAL: Duration = Duration::from_secs(1);

/// The errors of a connection that say something of the server, or of the way to it.
const OF_SERVER: [ErrorKind; 5] = [
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkUnreachable,
    ErrorKind::TimedOut,
];

impl Upstream {
    /// Tries to connect to each server for which that was never called, so that readiness is soon
    /// no guess. It must be called on an I/O core.
    pub fn reach_servers(self: &Arc<Self>) {
        for server in self.servers().iter().filter(|server| server.trouble.is_new()) {
            let (upstream, server) = (Arc::clone(self), Arc::clone(server));
            tokio::task::spawn_local(async move { reach(&upstream, &server).await });
        }
    }

    /// Notes that a connection could not be made.
    pub(super) fn note_unreachable(self: &Arc<Self>, server: &Arc<UpstreamServer>, error: &Error) {
        if !OF_SERVER.contains(&error.kind()) {
            return;
        }
        let is_new = server.trouble.set_unreachable(true);
        if server.trouble.begin(format!("takes no connections ({error})")) {
            let (upstream, server) = (&*self.plan.name, server.address);
            tracing::warn!(upstream, %server, %error, "a server takes no connections");
        }
        if is_new {
            self.judge();
            tokio::task::spawn_local(knock(Arc::clone(self), Arc::clone(server)));
        }
    }

    /// Notes that a connection was made.
    pub(super) fn note_reached(&self, server: &UpstreamServer) {
        if server.trouble.is_unreachable() && server.trouble.set_unreachable(false) {
            self.judge();
            if !server.trouble.is_failing(&self.plan.passive) {
                self.log_end(server, "a server takes connections again");
            }
        }
    }

    /// Notes what became of a request at a server. `None` says that it was answered, to the end.
    pub(super) fn note_outcome(&self, server: &UpstreamServer, error: Option<FetchError>) {
        let trouble = &server.trouble;
        match error {
            None => {
                trouble.note_answer();
                if trouble.end_count() && !trouble.is_unreachable() {
                    self.log_end(server, "a server answers again");
                }
            }
            // Where no connection is made, connections count, not requests.
            Some(error) if error.is_of_server() && !trouble.is_unreachable() => {
                let Some(failures) = trouble.count_failure(&self.plan.passive) else { return };
                if trouble.begin(format!("the last {failures} requests failed ({error})")) {
                    let (upstream, server) = (&*self.plan.name, server.address);
                    tracing::warn!(upstream, %server, failures, %error, "a server does not answer");
                }
            }
            Some(_) => {}
        }
    }

    fn log_end(&self, server: &UpstreamServer, message: &str) {
        if let Some(took) = server.trouble.end() {
            let (upstream, server) = (&*self.plan.name, server.address);
            tracing::info!(upstream, %server, seconds = took.as_secs(), "{message}");
        }
    }
}

/// A server that has sent a head. Dropped, it says nothing of the server.
#[derive(Debug)]
pub(super) struct Asked {
    upstream: Arc<Upstream>,
    server: Arc<UpstreamServer>,
}

impl Asked {
    pub(super) fn new(upstream: &Arc<Upstream>, server: &Arc<UpstreamServer>) -> Self {
        Self { upstream: Arc::clone(upstream), server: Arc::clone(server) }
    }

    /// Notes how the response ended.
    pub(super) fn ended(self, error: Option<FetchError>) {
        self.upstream.note_outcome(&self.server, error);
    }
}

/// Looks whether a server takes connections, until it has left the upstream or the drain begins. It
/// begins when a request has been answered there, and looks while no other one is: a server that
/// nobody uses is left alone.
pub(super) async fn look_at(
    upstream: Arc<Upstream>,
    server: Arc<UpstreamServer>,
    draining: Draining,
) {
    let mut was_used = false;
    loop {
        tokio::select! {
            () = draining.begun() => return,
            () = sleep(upstream.plan.look_interval) => {}
        }
        if !upstream.has(&server) {
            return;
        }
        let is_used = server.trouble.take_answered();
        was_used |= is_used;
        // One that takes no connection is tried more often already.
        if was_used && !is_used && !server.trouble.is_unreachable() {
            reach(&upstream, &server).await;
        }
    }
}

/// Tries once to connect to a server, unless that is under way.
async fn reach(upstream: &Arc<Upstream>, server: &Arc<UpstreamServer>) {
    let Some(_trial) = server.trouble.begin_trial() else { return };
    let connect = TcpStream::connect(server.address);
    match timeout(upstream.plan.connect_timeout, connect).await {
        Ok(Ok(_)) => upstream.note_reached(server),
        Ok(Err(error)) => upstream.note_unreachable(server, &error),
        Err(_) => upstream.note_unreachable(server, &ErrorKind::TimedOut.into()),
    }
}

/// Tries to connect to a server until it takes a connection, or has left the upstream.
async fn knock(upstream: Arc<Upstream>, server: Arc<UpstreamServer>) {
    loop {
        sleep(KNOCK_INTERVAL).await;
        if !server.trouble.is_unreachable() || !upstream.has(&server) {
            return;
        }
        reach(&upstream, &server).await;
        if !server.trouble.is_unreachable() {
            return;
        }
    }
}
