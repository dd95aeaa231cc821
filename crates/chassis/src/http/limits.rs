//! Bounds of the connections of one core.

use std::time::Duration;

/// Bounds of the connections of one core.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections; one more is told 503 and closed.
    pub connections_max: usize,
    /// Bytes of a request head; more are refused with 431.
    pub head_bytes_max: usize,
    /// Time between requests.
    pub idle_timeout: Duration,
    /// Time for a head, or for the next piece of a body, to arrive.
    pub receive_timeout: Duration,
    /// Time that a client may not read its reply.
    pub send_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 50_000,
            head_bytes_max: 64 * 1024,
            idle_timeout: Duration::from_secs(75),
            receive_timeout: Duration::from_secs(20),
            send_timeout: Duration::from_secs(30),
        }
    }
}
