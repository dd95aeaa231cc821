//! Holds the bounds of the connections of one core, with their defaults.
//!
//! Invariant: plain data, but for the shared budget for bytes; the doc of each bound says what
//! happens there. `connection` enforces the bytes of a head, and `Connections::sweep` the timeouts
//! and rates. It cuts timeouts to whole seconds, and adds up to one. `listen` enforces
//! `connections_max`. The defaults are also in the docs of `[limits]` (`gateway::config`). Never
//! here: the length of bodies (the roles), what a user has set (`gateway::plan`).

use std::sync::Arc;
use std::time::Duration;

use http1::TrustedProxies;
use http1::request::Underscores;

use crate::clients::ClientBudgets;

/// Bounds of the connections of one core.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections; one more is answered with 503 and closed.
    pub connections_max: usize,
    /// Bytes of a request head; a longer one is refused with 431.
    pub head_bytes_max: usize,
    /// Longest time between two requests; then the connection is closed.
    pub idle_timeout: Duration,
    /// Longest time from the first byte of a head to its last; then the connection is closed.
    pub head_timeout: Duration,
    /// Longest time to the next piece of a body; then the request is answered with 408.
    pub receive_timeout: Duration,
    /// Longest time that is spent waiting for a body; then the request is answered with 408.
    pub body_timeout: Duration,
    /// Longest time in which a client reads nothing of its reply; then the connection is closed.
    pub send_timeout: Duration,
    /// Bytes per second that a client must send of a body, and read of a reply: the mean over the
    /// time spent waiting for it. A slower client is treated as by the timeouts.
    pub rate_min: u64,
    /// Time spent waiting for a client after which its rate counts.
    pub rate_grace: Duration,
    /// The budgets for what clients have sent and not received yet. At its bound, a client loses
    /// connections whose head has arrived in part, and those on which it does not read.
    pub budgets: Arc<ClientBudgets>,
    /// What becomes of fields with `_` in their name.
    pub underscores: Underscores,
    /// The peers whose word about a client is taken (`Head::client`).
    pub trusted: TrustedProxies,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 50_000,
            head_bytes_max: 64 * 1024,
            idle_timeout: Duration::from_secs(75),
            head_timeout: Duration::from_secs(20),
            receive_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(300),
            send_timeout: Duration::from_secs(30),
            rate_min: 1000,
            rate_grace: Duration::from_secs(10),
            budgets: Arc::new(ClientBudgets::unbounded()),
            underscores: Underscores::Drop,
            trusted: TrustedProxies::default(),
        }
    }
}
