//! Parts the budget for bytes in flight among clients: none of them may hold more than its share.
//! Also counts what else one client takes of what a core has ([`ClientCounts`]).
//!
//! A client is an IPv4 address, or a /64 of IPv6, because a subscriber has one of these. Invariant:
//! what a client holds anywhere is charged to one part, whichever core it is on. The part exists as
//! long as something is charged to it; parts without a charge are dropped when the table is full.
//! So the table grows with what is in flight, not with who came. Never here: what is charged.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::inflight::{Charge, Inflight};

/// Parts above which those without a charge are dropped.
const PARTS_MIN: usize = 1024;

/// The budgets of the clients.
#[derive(Debug)]
pub struct ClientBudgets {
    whole: Arc<Inflight>,
    share: f64,
    parts: Mutex<HashMap<ClientId, Weak<Inflight>>>,
}

/// A client, as far as bounds tell one from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientId {
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

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(octets) => Ipv4Addr::from(octets).fmt(f),
            Self::V6(half) => {
                let prefix = u128::from(u64::from_be_bytes(half)) << 64;
                write!(f, "{}/64", Ipv6Addr::from(prefix))
            }
        }
    }
}

impl ClientBudgets {
    /// Parts a budget; one client gets at most this share of it.
    pub fn new(whole: Arc<Inflight>, share: f64) -> Self {
        Self { whole, share, parts: Mutex::default() }
    }

    /// Returns budgets without a bound.
    pub fn unbounded() -> Self {
        Self::new(Inflight::unbounded(), 1.0)
    }

    /// Returns the budget of all clients.
    pub fn whole(&self) -> &Arc<Inflight> {
        &self.whole
    }

    /// Returns how many of `max` one client may take: its share, but at least one.
    pub fn share_of(&self, max: usize) -> usize {
        ((max as f64 * self.share).ceil() as usize).max(1)
    }

    /// Returns a charge of no bytes to the budget of a client.
    pub fn charge(&self, client: ClientId) -> Charge {
        let mut parts = self.parts.lock();
        if let Some(part) = parts.get(&client).and_then(Weak::upgrade) {
            return Charge::new(&part);
        }
        if parts.len() >= PARTS_MIN && parts.len() == parts.capacity() {
            parts.retain(|_, part| part.strong_count() > 0);
        }
        let part = Inflight::within(&self.whole, self.share_of(self.whole.bytes_max()));
        parts.insert(client, Arc::downgrade(&part));
        Charge::new(&part)
    }
}

/// How many of something each client has on one core. Who has none takes no memory.
#[derive(Debug, Default)]
pub struct ClientCounts(RefCell<HashMap<ClientId, usize, RandomState>>);

impl ClientCounts {
    /// Returns how many a client has.
    pub fn of(&self, client: ClientId) -> usize {
        self.0.borrow().get(&client).copied().unwrap_or(0)
    }

    /// Counts one more.
    pub fn add(&self, client: ClientId) {
        *self.0.borrow_mut().entry(client).or_insert(0) += 1;
    }

    /// Counts one less.
    pub fn remove(&self, client: ClientId) {
        let mut counts = self.0.borrow_mut();
        if let Some(count) = counts.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests;
