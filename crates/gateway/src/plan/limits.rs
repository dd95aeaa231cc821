//! Defines the checked bounds that protect the machine: of clients, of waiting, of bytes.
//!
//! Invariant: plain data. `plan::check::limits` fills it. The bounds of connections go on to
//! `chassis`; the others are kept by the gateway. Never here: bounds of one route or upstream
//! (`plan`), those that no user sets (beside what they bound).

use chassis::Limits;

/// The bounds that protect the machine.
#[derive(Debug, Clone)]
pub struct LimitsPlan {
    /// Bounds of the connections of each core, with what `[listen]` says about them.
    pub connections: Limits,
    /// Requests per core under way beyond the cache.
    pub pending_max: usize,
    /// Waiters on one flight.
    pub waiters_per_key_max: usize,
    /// Waiters on all flights.
    pub waiters_max: usize,
    /// Bytes of a user id.
    pub user_bytes_max: usize,
    /// Bytes that requests under way may hold beside the cache, over all cores.
    pub inflight_bytes: usize,
    /// Share for one client of bytes, connections, pending requests, and places of an upstream.
    pub client_share: f64,
    /// Reads of one client that go past the cache of a storing route at a time.
    pub bypass_per_client_max: usize,
    /// The same of one key.
    pub bypass_per_key_max: usize,
}
