//! Brings an answer back from disk, within the flight that would fetch it otherwise: a herd reads
//! the disk once.
//!
//! Invariant: what changed while it was read is not brought back: the key's mark is compared after
//! the answer was stored in memory, so that whoever forgets it, forgets it there too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange::Decision;
use twox_hash::XxHash3_64;

use crate::cache::encodings::Shapes;
use crate::cache::memory::{Entry, FieldNames, KeyBytes, extend_by_variant};
use crate::cache::purge::Verdict;
use crate::config::RouteConfig;
use crate::fetch::origin_request::Order;
use crate::freshness::Asked;
use crate::gateway::Gateway;
use crate::plan::Route;

use super::DiskTier;
use super::record::{Kept, Stored};

/// Looks for an order's answer on disk and promotes it to memory. What may not be used as it is
/// becomes what the fetch asks the origin about.
pub(crate) async fn recall(
    gateway: &Gateway,
    route: &Route,
    order: &mut Order,
) -> Option<Arc<Entry>> {
    let tier = gateway.disk.as_ref()?;
    let room = route.cache.as_ref()?.disk?;
    let demand = order.recall?;
    let Asked { authorised, .. } = order.asked(route, Duration::ZERO);
    let found = find(tier, room, order).await;
    let found = found.filter(|found| found.kept.entry.open || !authorised);
    let Some(entry) = found.and_then(|found| promote((gateway, tier), (route, order), found))
    else {
        tier.shared.metrics.misses.add(1);
        return None;
    };
    let now = Instant::now();
    let is_usable = demand.accepts(&entry, now)
        || (entry.may_answer_stale(now) && demand.accepts_unconfirmed(&entry, now));
    if is_usable {
        tier.shared.metrics.hits.add(1);
        return Some(entry);
    }
    tier.shared.metrics.stale.add(1);
    order.stale = Some(entry);
    None
}

struct Found {
    kept: Kept,
    /// The answer varies by these.
    names: Option<FieldNames>,
    /// The keys that led to it, and their marks before they were read.
    marks: [(Vec<u8>, u64); 2],
}

async fn find(tier: &DiskTier, room: u64, order: &mut Order) -> Option<Found> {
    let marked = |key: &[u8]| {
        let key = key_on_disk(room, key);
        let mark = tier.mark(&key);
        (key, mark)
    };
    let base = marked(&order.key[..order.base_length]);
    let exact = marked(&order.key);
    let names = match tier.find(&exact.0).await? {
        Stored::Entry(kept) => return Some(Found { kept, names: None, marks: [base, exact] }),
        Stored::Varies(names) if order.key.len() == order.base_length => names,
        Stored::Varies(_) => return None,
    };
    let mut variant = order.key.clone();
    extend_by_variant(&mut variant, &names, |name, key| order.append_selecting(name, key));
    let exact = marked(&variant);
    let Stored::Entry(kept) = tier.find(&exact.0).await? else { return None };
    order.key = variant;
    Some(Found { kept, names: Some(names), marks: [base, exact] })
}

/// Stores the answer in memory, unless it was purged or changed since it was read.
fn promote(
    (gateway, tier): (&Gateway, &DiskTier),
    (route, order): (&Route, &Order),
    found: Found,
) -> Option<Arc<Entry>> {
    let verdict = tier.verdict(&found.kept, &order.key);
    let entry = shaped(route, tier.stamp(&found.kept), found.kept);
    let entry = match verdict {
        Verdict::Good => entry,
        Verdict::Stale => entry.made_stale(Instant::now()),
        Verdict::Gone => return None,
    };
    let stored = match found.names {
        None => gateway.cache.store(&order.key, Arc::clone(&entry)),
        Some(names) => {
            let base = &order.key[..order.base_length];
            let value = |name: &str, key: &mut KeyBytes| order.append_selecting(name, key);
            gateway.cache.store_variant(base, (names, value), Arc::clone(&entry))
        }
    };
    if stored == Verdict::Gone {
        return None;
    }
    // Memory may have made it stale; one that is too large for memory is not there.
    let in_memory = gateway.cache.get_exact(&order.key);
    if found.marks.iter().any(|(key, mark)| tier.mark(key) != *mark) {
        gateway.cache.remove(&order.key);
        return None;
    }
    in_memory.or_else(|| (stored == Verdict::Good).then_some(entry))
}

/// The entry as this life of the process stamps it, with the codings that its route offers.
fn shaped(route: &Route, stamp: u64, kept: Kept) -> Arc<Entry> {
    let mut entry = Arc::unwrap_or_clone(kept.entry);
    entry.stamp = stamp;
    if let Some(compress) = route.compress.as_ref().filter(|_| kept.shaped) {
        let new = || Arc::new(Shapes::new(compress.codings, entry.decision_at.is_some()));
        entry.shapes.get_or_insert_with(new);
    }
    Arc::new(entry)
}

/// Writes an answer that is about to be stored in memory. A user's own stays in memory.
pub(crate) fn keep(
    gateway: &Gateway,
    route: &Route,
    order: &Order,
    (names, entry): (&FieldNames, &Arc<Entry>),
) {
    let room = route.cache.as_ref().and_then(|cache| cache.disk);
    let Some((tier, room)) = gateway.disk.as_ref().zip(room) else { return };
    if order.decision == Decision::Personalised {
        return;
    }
    let mut key = KeyBytes::from_slice(&order.key[..order.base_length]);
    if !names.is_empty() {
        tier.keep_names(&key_on_disk(room, &key), names);
        extend_by_variant(&mut key, names, |name, key| order.append_selecting(name, key));
    }
    tier.keep(&key_on_disk(room, &key), entry);
}

/// Forgets what stands under a key; call it before memory forgets.
pub(crate) fn forget(gateway: &Gateway, route: &Route, key: &[u8]) {
    let room = route.cache.as_ref().and_then(|cache| cache.disk);
    if let Some((tier, room)) = gateway.disk.as_ref().zip(room) {
        tier.forget(&key_on_disk(room, key));
    }
}

/// Which room a route has: what it stored is found again only while it is configured the same.
pub(crate) fn room(config: &RouteConfig) -> u64 {
    XxHash3_64::oneshot(format!("{config:?}").as_bytes())
}

/// A key on disk begins with its route as it was configured: when the route changes, what was
/// stored under the old rules is not found.
fn key_on_disk(room: u64, key: &[u8]) -> Vec<u8> {
    [&room.to_le_bytes()[..], key].concat()
}
