//! Holds the bounds of the connections of one core, with their defaults.
//!
//! Invariant: plain data; the doc of each bound says what happens there. `connection` enforces the
//! bytes of a head, and `Connections::sweep` the timeouts and rates. It cuts timeouts to whole
//! seconds, and adds up to one. `listen` enforces `connections_max`. The defaults are also in the
//! docs of `[limits]` (`gateway::config`), whose check begins with them. Never here: the length of
//! bodies (the roles), the budget for bytes (`ClientBudgets`).

use std::time::Duration;

use http1::TrustedProxies;
use http1::request::Underscores;

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
            underscores: Underscores::Drop,
            trusted: TrustedProxies::default(),
        }
    }
}
