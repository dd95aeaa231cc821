//! Upstreams as planned: who is asked, how long that may take, how health is probed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// An upstream as planned.
#[derive(Debug, Clone)]
pub struct UpstreamPlan {
    /// Its name.
    pub name: Arc<str>,
    /// Addresses of its servers; none when workers answer.
    pub servers: Vec<SocketAddr>,
    /// How a server is chosen.
    pub balance: Balance,
    /// `Host` to send instead of the client's.
    pub host: Option<Box<str>>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time from the sent request to the head of the response.
    pub answer_timeout: Duration,
    /// Time between two pieces of a body.
    pub piece_timeout: Duration,
    /// Time that a connection is kept unused.
    pub idle_timeout: Duration,
    /// Connections a core and server.
    pub connections_max: usize,
    /// Probes; without them a server is always in rotation.
    pub health: Option<HealthPlan>,
    /// Retries; without it there are none.
    pub retry: Option<RetryPlan>,
}

/// How a server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balance {
    /// The healthy server with the fewest requests under way.
    #[default]
    LeastLoaded,
    /// The healthy server that the key hashes to; keys move only when a server comes or goes.
    ConsistentHash,
}

/// How a server is probed.
#[derive(Debug, Clone)]
pub struct HealthPlan {
    /// Path asked by GET.
    pub path: Box<str>,
    /// Time between probes.
    pub interval: Duration,
    /// Time for a probe.
    pub timeout: Duration,
    /// Probes that count, at most 64.
    pub window: u32,
    /// Good ones that make a server healthy.
    pub threshold: u32,
    /// Good ones assumed at start.
    pub initial: u32,
}

/// How many retries may be made.
#[derive(Debug, Clone, Copy)]
pub struct RetryPlan {
    /// Retries as a share of the requests.
    pub share: f64,
    /// Retries a second whatever the share.
    pub min_per_second: u32,
}

/// An upstream whose responses come from workers.
#[derive(Debug)]
pub struct PoolUpstream {
    /// Its place among all upstreams.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// Time for a response, both to wait for a worker and for its head.
    pub answer_timeout: Duration,
}

impl UpstreamPlan {
    /// An upstream for which workers will answer.
    pub(crate) fn of_workers(pool: PoolUpstream) -> Self {
        Self {
            name: pool.name.into(),
            servers: Vec::new(),
            balance: Balance::default(),
            host: None,
            connect_timeout: Duration::from_secs(2),
            answer_timeout: pool.answer_timeout,
            piece_timeout: pool.answer_timeout,
            // Nothing between here and a worker forgets connections.
            idle_timeout: Duration::from_secs(600),
            connections_max: usize::MAX,
            health: None,
            retry: None,
        }
    }

    /// Whether workers answer.
    pub fn is_of_workers(&self) -> bool {
        self.servers.is_empty()
    }
}
