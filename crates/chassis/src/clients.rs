//! Parts the budget for bytes in flight among clients: none of them may hold more than its share.
//!
//! A client is an IPv4 address, or a /64 of IPv6, because a subscriber has one of these. Invariant:
//! what a client holds anywhere is charged to one part, whichever core it is on. The part exists as
//! long as something is charged to it; parts without a charge are dropped when the table is full.
//! So the table grows with what is in flight, not with who came. Never here: what is charged.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::inflight::{Charge, Inflight};

/// Parts above which those without a charge are dropped.
const PARTS_MIN: usize = 1024;

/// The budgets of the clients.
#[derive(Debug)]
pub struct ClientBudgets {
    whole: Arc<Inflight>,
    /// Bytes for one client.
    bytes_max: usize,
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

impl ClientBudgets {
    /// Parts a budget; one client gets at most this share of it.
    pub fn new(whole: Arc<Inflight>, share: f64) -> Self {
        let bytes_max = (whole.bytes_max() as f64 * share) as usize;
        Self { whole, bytes_max, parts: Mutex::default() }
    }

    /// Returns budgets without a bound.
    pub fn unbounded() -> Self {
        Self::new(Inflight::unbounded(), 1.0)
    }

    /// Returns the budget of all clients.
    pub fn whole(&self) -> &Arc<Inflight> {
        &self.whole
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
        let part = Inflight::within(&self.whole, self.bytes_max);
        parts.insert(client, Arc::downgrade(&part));
        Charge::new(&part)
    }
}

#[cfg(test)]
mod tests;
