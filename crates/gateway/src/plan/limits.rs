//! Defines the checked bounds that protect the machine: of clients, of waiting, of bytes.
//!
//! Invariant: plain data. `plan::check::limits` fills it. The timeouts and the rate go on to the
//! connections of clients ([`LimitsPlan::of_connections`]); the others are kept here. Never here:
//! bounds of one route or upstream (`plan`), those that no user sets (beside what they bound).

use std::sync::Arc;
use std::time::Duration;

use chassis::{ClientBudgets, Limits, TrustedProxies, Underscores};

/// The bounds that protect the machine.
#[derive(Debug, Clone)]
pub struct LimitsPlan {
    /// Requests per core under way beyond the cache.
    pub pending_max: usize,
    /// Waiters on one flight.
    pub waiters_per_key_max: usize,
    /// Waiters on all flights.
    pub waiters_max: usize,
    /// Client connections per core.
    pub connections_max: usize,
    /// Bytes of a user id.
    pub user_bytes_max: usize,
    /// Bytes that requests under way may hold beside the cache, over all cores.
    pub inflight_bytes: usize,
    /// Share of `inflight_bytes`, and of the tunnels of an upstream, for one client.
    pub client_share: f64,
    /// Reads of one client that go past the cache of a storing route at a time.
    pub bypass_per_client_max: usize,
    /// The same of one key.
    pub bypass_per_key_max: usize,
    /// Longest time between two requests of a connection.
    pub idle_timeout: Duration,
    /// Longest time for a head to arrive.
    pub head_timeout: Duration,
    /// Longest time for the next piece of a body to arrive.
    pub receive_timeout: Duration,
    /// Longest time of waiting for a body.
    pub body_timeout: Duration,
    /// Longest time in which a client reads nothing.
    pub send_timeout: Duration,
    /// Bytes per second that a client must send or read.
    pub rate_min: u64,
    /// Time of waiting after which that counts.
    pub rate_grace: Duration,
    /// What becomes of fields with `_` in their name; a key of `[listen]`.
    pub underscores: Underscores,
    /// The peers whose word about a client is taken; a key of `[listen]`.
    pub trusted: TrustedProxies,
}

impl LimitsPlan {
    /// Returns the bounds of the connections of a core; all connections share `budgets`.
    pub(crate) fn of_connections(&self, budgets: Arc<ClientBudgets>) -> Limits {
        Limits {
            connections_max: self.connections_max,
            idle_timeout: self.idle_timeout,
            head_timeout: self.head_timeout,
            receive_timeout: self.receive_timeout,
            body_timeout: self.body_timeout,
            send_timeout: self.send_timeout,
            rate_min: self.rate_min,
            rate_grace: self.rate_grace,
            budgets,
            underscores: self.underscores,
            trusted: self.trusted.clone(),
            ..Limits::default()
        }
    }
}
