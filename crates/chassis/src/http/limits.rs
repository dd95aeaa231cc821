//! Holds the bounds of the connections of one core, with their defaults.
//!
//! Invariant: plain data; the doc of each bound says what happens there. `connection` enforces the
//! bytes of a head and the timeouts. It cuts timeouts to whole seconds, and its sweep adds up to
//! one. `listen` enforces `connections_max`. Never here: bounds of bodies (`body`, the roles),
//! those that a user sets (`gateway::plan`).

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
    /// Longest time for a head, or for the next piece of a body, to arrive; then the connection is
    /// closed.
    pub receive_timeout: Duration,
    /// Longest time in which a client reads nothing of its reply; then the connection is closed.
    pub send_timeout: Duration,
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
            receive_timeout: Duration::from_secs(20),
            send_timeout: Duration::from_secs(30),
            underscores: Underscores::Drop,
            trusted: TrustedProxies::default(),
        }
    }
}
