//! Upstreams over HTTP/1.1: servers or workers, who is asked, and the connections kept to them.
//!
//! `Upstream` is what all cores share: addresses, health, the retry budget. `Pool` is one core's
//! connections to it; a connection never leaves its core. `Connection` sends a request and hears
//! the head of its answer, in the request's own task; `UpstreamBody` reads what follows.
//! Invariant: a connection carries another request only when the end of the last answer is beyond
//! doubt, so that no answer is ever taken for that of another request (RFC 9112 §6.3, §9.2).
//! Here: choosing, connecting, sending, timing out. Never here: caching, coalescing.

mod body;
mod budget;
mod connection;
pub(crate) mod fuzzing;
mod health;
pub(crate) mod interim;
mod pool;
mod render;
mod stream;
mod switch;
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use body::UpstreamBody;
pub(crate) use budget::RetryBudget;
pub use health::probe;
pub(crate) use health::{Health, HealthPlan};
pub(crate) use pool::Pool;
pub(crate) use render::Request;
pub(crate) use switch::Switched;

use crate::error::FetchError;
use crate::plan::PoolUpstream;
use crate::ports::Workers;
use http1::FieldLines;

/// An answer whose body has not been read.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub body: UpstreamBody,
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

/// An upstream as all cores see it.
#[derive(Debug)]
pub struct Upstream {
    /// Its name.
    pub name: Arc<str>,
    /// Its servers; none when workers answer.
    pub servers: Vec<Server>,
    /// Its workers.
    pub workers: Option<Arc<dyn Workers>>,
    /// How a server is chosen.
    pub balance: Balance,
    /// `Host` to send instead of the client's.
    pub host: Option<Box<str>>,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time from the sent request to the head of the answer.
    pub answer_timeout: Duration,
    /// Time between two pieces of a body.
    pub piece_timeout: Duration,
    /// Time that a connection is kept unused.
    pub idle_timeout: Duration,
    /// Connections a core and server.
    pub connections_max: usize,
    /// Probes.
    pub health: Option<HealthPlan>,
    /// Retries.
    pub retry: Option<RetryBudget>,
}

/// One server of an upstream.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    /// Its health.
    pub health: Health,
}

impl Upstream {
    /// An upstream that workers will answer for.
    pub fn of_workers(pool: PoolUpstream) -> Self {
        Self {
            name: pool.name.into(),
            servers: Vec::new(),
            workers: None,
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

    /// Whether any server is healthy, or the workers are ready.
    pub fn is_healthy(&self) -> bool {
        self.servers.iter().any(|server| server.health.is_healthy())
            || self.workers.as_ref().is_some_and(|workers| workers.is_ready())
    }
}
