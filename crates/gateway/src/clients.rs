//! Bounds what one client holds: a share of the budget for bytes, of tunnels, of reads past the
//! cache.
//!
//! A client is an IPv4 address, or a /64 of IPv6, because a subscriber has one of these. Invariant:
//! an address that holds nothing has no place here; so the tables grow with what is held, not with
//! who came. What is counted ends when its guard is dropped. All cores share the tables. They are
//! locked only for requests with a body, tunnels, slow readers and bypasses, so never for a hit.
//! Never here: bounds over all clients (`gateway`, `chassis::Inflight`), what a refusal looks like
//! (`error`).

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use chassis::{Charge, Inflight};
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::plan::LimitsPlan;

/// Budgets of clients above which those that nobody uses are forgotten.
const BUDGETS_MIN: usize = 1024;

/// Least time between two lines of the log about clients at their bounds.
const WARN_INTERVAL: Duration = Duration::from_secs(60);

/// What the clients hold.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The budget of all clients.
    budget: Arc<Inflight>,
    /// Bytes of it for one client.
    bytes_max: usize,
    share: f64,
    budgets: Mutex<HashMap<ClientId, Weak<Inflight>, RandomState>>,
    /// Tunnels by client.
    tunnels: Arc<Counts<ClientId>>,
    /// Reads past the cache by client.
    bypasses: Arc<Counts<ClientId>>,
    bypass_per_client_max: usize,
    /// Reads past the cache by the hash of their key.
    bypassed: Arc<Counts<u64>>,
    bypass_per_key_max: usize,
    hasher: RandomState,
    warned_at: Mutex<Option<Instant>>,
}

/// A client, as far as bounds tell one from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientId {
    /// An IPv4 address.
    V4([u8; 4]),
    /// The first half of an IPv6 address.
    V6([u8; 8]),
}

impl From<IpAddr> for ClientId {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(ip) => Self::V4(ip.octets()),
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
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
            bytes_max: (budget.bytes_max() as f64 * limits.client_share) as usize,
            share: limits.client_share,
            budget,
            budgets: Mutex::default(),
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
        &self.budget
    }

    /// Returns a charge of no bytes in the budget of a client.
    pub(crate) fn charge(&self, client: ClientId) -> Charge {
        let mut budgets = self.budgets.lock();
        if let Some(budget) = budgets.get(&client).and_then(Weak::upgrade) {
            return Charge::new(&budget);
        }
        if budgets.len() >= BUDGETS_MIN && budgets.len() == budgets.capacity() {
            budgets.retain(|_, budget| budget.strong_count() > 0);
        }
        let budget = Inflight::within(&self.budget, self.bytes_max);
        budgets.insert(client, Arc::downgrade(&budget));
        Charge::new(&budget)
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

    /// Counts a tunnel of a client to an upstream that takes `tunnels_max`; `None` beyond the
    /// client's share of these.
    pub(crate) fn tunnel(&self, client: ClientId, tunnels_max: usize) -> Option<Counted<ClientId>> {
        let of_client = (tunnels_max as f64 * self.share).ceil() as usize;
        Counts::count(&self.tunnels, client, of_client.max(1))
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
