//! Records purges, and tells which responses are older than a purge of them.
//!
//! Each fetch takes a stamp before it asks the origin, and each area of a purge takes the next
//! number. Storing a response compares the two. This record serves fetches under way and the disk;
//! entries in memory are found by `memory/index.rs`, and dropped or made stale at once.
//! Invariant: the verdict on a response whose fetch began before a purge of it is never `Good`.
//! `memory` holds the record locked while it stores by that verdict. `disk/purges.rs` keeps purges
//! over restarts.
//! Places stand on disk: another number of them, or another way from a resource or tag to its
//! place, needs another `FORMAT` in `disk/log.rs`. A new kind of [`Area`] also goes into
//! `memory/index.rs` and `disk/purges.rs`.
//! Bound: 2 MiB for resources and tags, and 1,024 prefixes (docs/decisions/cache.md names both).
//! Every doubt counts as purged. Resources and tags share places by their fingerprints. If a prefix
//! had to be forgotten, every older fetch counts as purged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard};

use crate::fingerprint::fingerprint;
use crate::key::Resource;
use crate::tags::Tags;

/// Places for purges of resources and tags, 16 bytes each. After a thousand such purges, one in
/// fifty of the older responses is mistaken for purged.
const PLACES: usize = 1 << 17;
/// Purges of prefixes that are remembered; a verdict compares each of them.
pub(crate) const PREFIXES_MAX: usize = 1 << 10;

/// What a purge covers, with every variant, arm and private response of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// One resource: a host, or every host; and path with query, as the key of the route has them.
    Resource(Option<Box<str>>, Box<str>),
    /// Every resource on a host, or on every host, whose path and query begin like this.
    Prefix(Option<Box<str>>, Box<str>),
    /// Every response with this tag.
    Tag(Box<str>),
}

/// A host, or every host; and the beginning of path and query.
pub(crate) type Prefix = (Option<Box<str>>, Box<str>);

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

/// Numbers of the last purges at one place; 0 is none.
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
    /// Places by fingerprint of resource or tag; empty before the first purge.
    places: Vec<Last>,
    prefixes: VecDeque<PrefixPurge>,
    /// Every fetch that began before this number counts as purged.
    floor: u64,
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

    /// Records a purge; every later store compares with it.
    pub(crate) fn record(&self, areas: &[Area], soft: bool) {
        let mut records = self.records.write();
        areas.iter().for_each(|area| records.add(area, soft));
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
    /// Returns records that have forgotten every purge up to this number.
    pub(crate) fn beginning_at(floor: u64) -> Self {
        Self { last: floor, floor, ..Self::default() }
    }

    /// Returns the number of the last purge.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Takes over the last purge at a place from an earlier run of the process.
    pub(crate) fn resume_place(&mut self, place: u32, soft: bool, number: u64) {
        self.last = self.last.max(number);
        self.places.resize(PLACES, Last::default());
        if let Some(last) = self.places.get_mut(place as usize) {
            *(if soft { &mut last.soft } else { &mut last.hard }) = number;
        }
    }

    /// Takes over a purge of a prefix. Calls must come in the order of the numbers.
    pub(crate) fn resume_prefix(&mut self, (host, start): Prefix, soft: bool, number: u64) {
        self.last = self.last.max(number);
        self.add_prefix(PrefixPurge { number, soft, host, start });
    }

    /// Returns how far purges cover a response whose fetch began at `stamp`.
    pub(crate) fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        if self.last <= stamp {
            return PurgeVerdict::Good;
        }
        if stamp < self.floor {
            return PurgeVerdict::Gone;
        }
        let resource = Resource::of_key(key);
        let names = resource.fingerprints().into_iter().chain(tags.iter().copied());
        let exact = names.filter_map(|name| self.places.get(place(name)));
        let exact = exact.map(|last| last.since(stamp));
        let prefixes = self.prefixes.iter().rev().take_while(|prefix| prefix.number > stamp);
        let prefixes = prefixes.filter(|prefix| prefix.covers(&resource)).map(PrefixPurge::verdict);
        exact.chain(prefixes).max().unwrap_or(PurgeVerdict::Good)
    }

    fn add(&mut self, area: &Area, soft: bool) {
        self.last += 1;
        let number = self.last;
        if let Area::Prefix(host, start) = area {
            self.resume_prefix((host.clone(), start.clone()), soft, number);
        } else if let Some(place) = area.place() {
            self.resume_place(place, soft, number);
        }
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
}

impl Area {
    /// Returns the place of its purges, which is the same in every process; `None` for a prefix.
    pub fn place(&self) -> Option<u32> {
        let fingerprint = match self {
            Self::Resource(host, target) => {
                let host = host.as_deref().unwrap_or_default().as_bytes();
                Resource { host, target: target.as_bytes() }.fingerprint()
            }
            Self::Tag(tag) => fingerprint(tag.as_bytes()),
            Self::Prefix(..) => return None,
        };
        Some(place(fingerprint) as u32)
    }
}

fn place(fingerprint: u64) -> usize {
    (fingerprint ^ (fingerprint >> 32)) as usize % PLACES
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
