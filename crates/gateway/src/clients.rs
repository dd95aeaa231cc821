//! Bounds what one client holds: a share of the budget for bytes, of connections to servers, of
//! tunnels, of reads past the cache.
//!
//! Invariant: what is counted ends when its guard is dropped, and what is not counted has no place
//! in the tables. All cores share them. They are locked only for requests with a body, tunnels,
//! slow readers and bypasses, so never for a hit. The connections of a core to a server are counted
//! there (`upstream::connections`). Never here: who a client is and its budget
//! (`chassis::ClientBudgets`), bounds over all clients (`gateway`), what a refusal looks like
//! (`error`).

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chassis::{Charge, ClientBudgets, ClientId, Inflight};
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::plan::LimitsPlan;

/// Least time between two lines of the log about clients at their bounds.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// What the clients hold.
#[derive(Debug)]
pub(crate) struct Clients {
    budgets: Arc<ClientBudgets>,
    /// Tunnels by upstream and client.
    tunnels: Arc<Counts<(usize, ClientId)>>,
    /// Reads past the cache by client.
    bypasses: Arc<Counts<ClientId>>,
    bypass_per_client_max: usize,
    /// Reads past the cache by the hash of their key.
    bypassed: Arc<Counts<u64>>,
    bypass_per_key_max: usize,
    hasher: RandomState,
    warned_at: Mutex<Option<Instant>>,
}

/// One read past the cache.
#[derive(Debug)]
pub(crate) struct Bypass {
    _of_client: Counted<ClientId>,
    _of_key: Counted<u64>,
}

impl Clients {
    /// Returns empty tables; every client holds a share of `budget`.
    pub(crate) fn new(limits: &LimitsPlan, budget: Arc<Inflight>) -> Self {
        Self {
            budgets: Arc::new(ClientBudgets::new(budget, limits.client_share)),
            tunnels: Arc::default(),
            bypasses: Arc::default(),
            bypass_per_client_max: limits.bypass_per_client_max,
            bypassed: Arc::default(),
            bypass_per_key_max: limits.bypass_per_key_max,
            hasher: RandomState::default(),
            warned_at: Mutex::default(),
        }
    }

    /// Returns the budget of all clients.
    pub(crate) fn budget(&self) -> &Arc<Inflight> {
        self.budgets.whole()
    }

    /// Returns the budgets, for connections.
    pub(crate) fn budgets(&self) -> &Arc<ClientBudgets> {
        &self.budgets
    }

    /// Returns how many of `max` one client may take.
    pub(crate) fn share_of(&self, max: usize) -> usize {
        self.budgets.share_of(max)
    }

    /// Returns a charge of no bytes to the budget of a client.
    pub(crate) fn charge(&self, client: ClientId) -> Charge {
        self.budgets.charge(client)
    }

    /// Whether a refusal may be logged now; at most one a minute is.
    pub(crate) fn may_warn(&self, now: Instant) -> bool {
        let mut warned_at = self.warned_at.lock();
        let may = warned_at.is_none_or(|at| now.duration_since(at) > WARN_INTERVAL);
        if may {
            *warned_at = Some(now);
        }
        may
    }

    /// Counts a tunnel of a client to an upstream, by its index, that takes `tunnels_max`; `None`
    /// beyond the client's share of these.
    pub(crate) fn tunnel(
        &self,
        client: ClientId,
        upstream: usize,
        tunnels_max: usize,
    ) -> Option<CountedTunnel> {
        Counts::count(&self.tunnels, (upstream, client), self.share_of(tunnels_max))
    }

    /// Counts a read past the cache; `None` if its client or its key has too many.
    pub(crate) fn bypass(&self, client: ClientId, key: &[u8]) -> Option<Bypass> {
        let of_client = Counts::count(&self.bypasses, client, self.bypass_per_client_max)?;
        let key = self.hasher.hash_one(key);
        let of_key = Counts::count(&self.bypassed, key, self.bypass_per_key_max)?;
        Some(Bypass { _of_client: of_client, _of_key: of_key })
    }
}

/// How many of something there are, by what they belong to.
#[derive(Debug)]
struct Counts<K>(Mutex<HashMap<K, usize, RandomState>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Counts<K> {
    /// Counts one more, unless there are `count_max` already.
    fn count(counts: &Arc<Self>, key: K, count_max: usize) -> Option<Counted<K>> {
        let mut table = counts.0.lock();
        let count = table.entry(key).or_insert(0);
        if *count >= count_max {
            return None;
        }
        *count += 1;
        Some(Counted { counts: Arc::clone(counts), key })
    }
}

/// A tunnel that is counted among those of its client.
pub(crate) type CountedTunnel = Counted<(usize, ClientId)>;

/// One that is counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted<K: Copy + Eq + Hash> {
    counts: Arc<Counts<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut table = self.counts.0.lock();
        if let Some(count) = table.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                table.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
