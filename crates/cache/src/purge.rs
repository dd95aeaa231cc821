//! Records purges, and tells which responses are older than a purge of them.
//!
//! Each fetch takes a stamp before it asks the origin, and each area of a purge takes the next
//! number. Storing a response compares the two. What is stored already needs no record: both tiers
//! find the keys of a purge and drop them, or make them stale. So this one serves responses under
//! way: those being fetched, waiting for the disk, or read from it before a purge is written there.
//!
//! Invariant: the verdict on a response whose fetch began before a purge of it is never `Good`.
//! `memory` holds the record locked while it stores by that verdict.
//! Bound: the last 131,072 purges of resources and tags, and 1,024 of prefixes
//! (docs/decisions/cache.md names both). If an older one had to be forgotten, a response under way
//! since before it counts as purged, so it is not stored.
//! Nothing here is written to disk; fingerprints of resources differ from process to process. A new
//! kind of area also goes into `area.rs`, `memory/index.rs` and `disk/log.rs`.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::{RwLock, RwLockReadGuard};

use crate::area::Area;
use crate::fingerprint::fingerprint;
use crate::key::Resource;
use crate::tags::Tags;

/// Purges of resources and tags that are remembered, 40 bytes each.
const EXACT_MAX: usize = 1 << 17;
/// Purges of prefixes that are remembered; a verdict compares each of them.
const PREFIXES_MAX: usize = 1 << 10;

/// How far purges cover a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeVerdict {
    /// No purge covers it.
    Good,
    /// A soft purge covers it: it may be used as a stale response.
    Stale,
    /// A hard purge covers it: it may not be used.
    Gone,
}

/// Numbers of the last purges of a resource or tag; 0 is none.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    soft: u64,
    hard: u64,
}

#[derive(Debug)]
struct PrefixPurge {
    number: u64,
    soft: bool,
    host: Option<Box<str>>,
    start: Box<str>,
}

/// The purges that are remembered.
#[derive(Debug, Default)]
pub(crate) struct Records {
    last: u64,
    /// By the fingerprint of a resource or tag in this process.
    exact: HashMap<u64, Last, RandomState>,
    /// Number and fingerprint of each purge in `exact`, the oldest first.
    order: VecDeque<(u64, u64)>,
    prefixes: VecDeque<PrefixPurge>,
    /// Every fetch that began before this number counts as purged.
    floor: u64,
    hasher: RandomState,
}

/// All purges of the process.
#[derive(Debug, Default)]
pub(crate) struct Purges {
    /// The number of the last purge, to compare without a lock.
    last: AtomicU64,
    records: RwLock<Records>,
}

impl Purges {
    /// Returns the stamp of a fetch that begins: the number of the last purge before it.
    pub(crate) fn stamp(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Records a purge; every later store compares with it. `queue` takes its number before any
    /// later purge gets one.
    pub(crate) fn record(&self, areas: &[Area], soft: bool, queue: impl FnOnce(u64)) {
        let mut records = self.records.write();
        areas.iter().for_each(|area| records.add(area, soft));
        queue(records.last);
        self.last.store(records.last, Ordering::Release);
    }

    /// Keeps new purges out while a response is stored by its verdict.
    pub(crate) fn hold(&self) -> RwLockReadGuard<'_, Records> {
        self.records.read()
    }

    /// Returns how far purges cover a response whose fetch began at `stamp`, in any tier.
    pub(crate) fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        if self.stamp() == stamp {
            return PurgeVerdict::Good;
        }
        self.records.read().verdict(stamp, key, tags)
    }
}

impl Records {
    /// Returns how far purges cover a response whose fetch began at `stamp`.
    pub(crate) fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        if self.last <= stamp {
            return PurgeVerdict::Good;
        }
        if stamp < self.floor {
            return PurgeVerdict::Gone;
        }
        let resource = Resource::of_key(key);
        let here = [resource.host, b""].map(|host| self.of_resource(host, resource.target));
        let names = here.into_iter().chain(tags.iter().map(|tag| self.of_tag(*tag)));
        let exact = names.filter_map(|name| self.exact.get(&name)).map(|last| last.since(stamp));
        let prefixes = self.prefixes.iter().rev().take_while(|prefix| prefix.number > stamp);
        let prefixes = prefixes.filter(|prefix| prefix.covers(&resource)).map(PrefixPurge::verdict);
        exact.chain(prefixes).max().unwrap_or(PurgeVerdict::Good)
    }

    /// Returns the number of the last purge that is no longer remembered.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    fn add(&mut self, area: &Area, soft: bool) {
        self.last += 1;
        let number = self.last;
        let name = match area {
            Area::Prefix(host, start) => {
                let (host, start) = (host.clone(), start.clone());
                return self.add_prefix(PrefixPurge { number, soft, host, start });
            }
            Area::Resource(host, target) => {
                let host = host.as_deref().unwrap_or_default();
                self.of_resource(host.as_bytes(), target.as_bytes())
            }
            Area::Tag(tag) => self.of_tag(fingerprint(tag.as_bytes())),
        };
        let last = self.exact.entry(name).or_default();
        *(if soft { &mut last.soft } else { &mut last.hard }) = number;
        self.order.push_back((number, name));
        if self.order.len() > EXACT_MAX {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((number, name)) = self.order.pop_front() else { return };
        // A later purge of the same name stands further back in the order.
        if self.exact.get(&name).is_some_and(|last| last.soft.max(last.hard) == number) {
            self.exact.remove(&name);
        }
        self.floor = self.floor.max(number);
    }

    fn add_prefix(&mut self, purge: PrefixPurge) {
        self.prefixes.retain(|before| !purge.replaces(before));
        self.prefixes.push_back(purge);
        if self.prefixes.len() > PREFIXES_MAX
            && let Some(oldest) = self.prefixes.pop_front()
        {
            self.floor = self.floor.max(oldest.number);
        }
    }

    fn of_resource(&self, host: &[u8], target: &[u8]) -> u64 {
        self.hasher.hash_one((host, target))
    }

    fn of_tag(&self, fingerprint: u64) -> u64 {
        self.hasher.hash_one(fingerprint)
    }
}

impl Last {
    fn since(self, stamp: u64) -> PurgeVerdict {
        match self {
            Self { hard, .. } if hard > stamp => PurgeVerdict::Gone,
            Self { soft, .. } if soft > stamp => PurgeVerdict::Stale,
            _ => PurgeVerdict::Good,
        }
    }
}

impl PrefixPurge {
    fn covers(&self, resource: &Resource<'_>) -> bool {
        self.host.as_deref().is_none_or(|host| resource.host == host.as_bytes())
            && resource.target.starts_with(self.start.as_bytes())
    }

    fn replaces(&self, before: &Self) -> bool {
        self.soft == before.soft && self.host == before.host && self.start == before.start
    }

    fn verdict(&self) -> PurgeVerdict {
        if self.soft { PurgeVerdict::Stale } else { PurgeVerdict::Gone }
    }
}

#[cfg(test)]
mod tests;
