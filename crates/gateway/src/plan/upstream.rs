//! Defines the checked configuration of an upstream: servers, timeouts, health probes, retries.
//!
//! Invariant: plain data, without state that changes while serving. A name stays a name here.
//! `plan::check::upstream` checks servers; the binary checks workers and hands them over as
//! [`PoolUpstream`]. An upstream of workers has no servers, no probes and no retries. Of the
//! timeouts of such an upstream only `answer_timeout` and `piece_timeout` can be set. Never here:
//! connections and addresses of names (`upstream`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The checked configuration of an upstream.
#[derive(Debug, Clone)]
pub struct UpstreamPlan {
    /// Its name.
    pub name: Arc<str>,
    /// Where its servers are; none if workers answer.
    pub servers: Vec<ServerPlan>,
    /// How a server is chosen.
    pub balance: Balance,
    /// `Host` to send instead of the client's.
    pub host: Option<Box<str>>,
    /// Longest time to connect.
    pub connect_timeout: Duration,
    /// Longest time from the sent request to the head of the response.
    pub answer_timeout: Duration,
    /// Longest time between two pieces of a body.
    pub piece_timeout: Duration,
    /// Time after which an unused connection is closed.
    pub idle_timeout: Duration,
    /// Connections per core and server.
    pub connections_max: usize,
    /// Tunnels over all cores and servers, beside these.
    pub tunnels_max: usize,
    /// Probes; without them a server is always in rotation.
    pub health: Option<HealthPlan>,
    /// Time between two looks whether a server without probes takes connections.
    pub look_interval: Duration,
    /// When requests that fail keep others from a server.
    pub passive: PassivePlan,
    /// Retries; without this there are none.
    pub retry: Option<RetryPlan>,
}

/// How long no request may be answered at a server without probes before a connection is tried.
/// Load balancers ask about as often whether a node is ready, and so few connections cost nothing.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Where one server is, or the servers of one name are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerPlan {
    /// At an address.
    Address(SocketAddr),
    /// At each address of a name.
    Name {
        /// The name.
        host: Box<str>,
        /// The port of each.
        port: u16,
    },
}

/// How a server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balance {
    /// The healthy server with the fewest requests under way.
    #[default]
    LeastLoaded,
    /// The healthy server that the key hashes to. Keys move only when a server is added or removed,
    /// or its health changes.
    ConsistentHash,
}

/// How a server is probed.
#[derive(Debug, Clone)]
pub struct HealthPlan {
    /// Path that a probe asks for by GET.
    pub path: Box<str>,
    /// Time between probes.
    pub interval: Duration,
    /// Longest time of a probe.
    pub timeout: Duration,
    /// Number of last probes that count, at most 64.
    pub window: u32,
    /// Good probes among these that make a server healthy.
    pub threshold: u32,
    /// Good probes assumed at start.
    pub initial: u32,
}

/// When requests that fail keep others from a server, as long as there is another.
#[derive(Debug, Clone, Copy)]
pub struct PassivePlan {
    /// Failures in a row; with 0 none do.
    pub failures: u32,
    /// How long others are kept from it after each.
    pub pause: Duration,
}

impl Default for PassivePlan {
    fn default() -> Self {
        Self { failures: 3, pause: Duration::from_secs(10) }
    }
}

/// How many retries may be made.
#[derive(Debug, Clone, Copy)]
pub struct RetryPlan {
    /// Retries as a share of the requests.
    pub share: f64,
    /// Retries per second in addition to the share.
    pub min_per_second: u32,
}

/// An upstream whose responses come from workers.
#[derive(Debug)]
pub struct PoolUpstream {
    /// Its index among all upstreams.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// Longest time to wait for a worker, and then for the head of its response.
    pub answer_timeout: Duration,
    /// Longest time between two pieces of a response.
    pub piece_timeout: Duration,
    /// Workers that may be on loan to tunnels, over all cores.
    pub tunnels_max: usize,
}

impl UpstreamPlan {
    /// Returns the plan of an upstream for which workers answer.
    pub(crate) fn of_workers(pool: PoolUpstream) -> Self {
        Self {
            name: pool.name.into(),
            servers: Vec::new(),
            balance: Balance::default(),
            host: None,
            connect_timeout: Duration::from_secs(2),
            answer_timeout: pool.answer_timeout,
            piece_timeout: pool.piece_timeout,
            // No network device between here and a worker drops idle connections.
            idle_timeout: Duration::from_secs(600),
            connections_max: usize::MAX,
            tunnels_max: pool.tunnels_max,
            health: None,
            look_interval: LOOK_INTERVAL,
            passive: PassivePlan::default(),
            retry: None,
        }
    }

    /// Whether workers answer.
    pub fn is_of_workers(&self) -> bool {
        self.servers.is_empty()
    }
}
