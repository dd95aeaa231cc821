//! Purges: what operators want forgotten, and which answers are older than a purge of them.
//!
//! Invariant: an answer whose fetch began before a purge of it is never stored as fresh. Each fetch
//! takes a stamp before it asks; each purge takes the next number and is remembered, so storing
//! compares the two. What memory holds when the purge comes is found by the `index` and dropped at
//! once; this record is for what memory does not hold: fetches under way, and other tiers. Its
//! memory is fixed, and what it no longer tells apart counts as purged, never as good: resources
//! and tags share places by their fingerprints, and whatever began before the last prefix that was
//! forgotten counts as purged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{RwLock, RwLockReadGuard};

use crate::fingerprint::fingerprint;
use crate::key::Resource;
use crate::tags::Tags;

/// Places for purges of resources and tags, 16 bytes each. Of the answers that are older than a
/// thousand such purges one in fifty is mistaken for purged.
const PLACES: usize = 1 << 17;
/// Purges of prefixes that are remembered; each is compared in turn.
pub(crate) const PREFIXES_MAX: usize = 1 << 10;

/// What a purge covers; every variant, arm and user's own answer with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// One resource: path and query as the route's key holds them; on every host without one.
    Resource(Option<Box<str>>, Box<str>),
    /// Every resource whose path and query begin so; on every host without one.
    Prefix(Option<Box<str>>, Box<str>),
    /// Every answer with this tag.
    Tag(Box<str>),
}

/// A host, any without one, and the beginning of path and query.
pub(crate) type Prefix = (Option<Box<str>>, Box<str>);

/// How far an answer is covered by purges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeVerdict {
    /// Not at all.
    Good,
    /// By a soft purge: it may be used as a stale one.
    Stale,
    /// By a hard purge: it may not be used.
    Gone,
}

/// Numbers of the last purges of one thing; 0 is none.
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
    /// By fingerprint of resource or tag; none before the first purge.
    places: Vec<Last>,
    prefixes: VecDeque<PrefixPurge>,
    /// Whatever began before this number counts as purged.
    floor: u64,
}

/// All purges of the process.
#[derive(Debug, Default)]
pub(crate) struct Purges {
    /// The number of the last purge, to be compared without a lock.
    last: AtomicU64,
    records: RwLock<Records>,
}

impl Purges {
    /// The stamp of a fetch that begins: the number of the last purge before it.
    pub(crate) fn stamp(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Remembers a purge; whoever stores later compares with it.
    pub(crate) fn record(&self, areas: &[Area], soft: bool) {
        let mut records = self.records.write();
        areas.iter().for_each(|area| records.add(area, soft));
        self.last.store(records.last, Ordering::Release);
    }

    /// Holds new purges off while an answer is stored by their verdict.
    pub(crate) fn hold(&self) -> RwLockReadGuard<'_, Records> {
        self.records.read()
    }

    /// Judges an answer whose fetch began at `stamp`, of any tier.
    pub(crate) fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        if self.stamp() == stamp {
            return PurgeVerdict::Good;
        }
        self.records.read().verdict(stamp, key, tags)
    }
}

impl Records {
    /// Records in which all up to this number is forgotten.
    pub(crate) fn beginning_at(floor: u64) -> Self {
        Self { last: floor, floor, ..Self::default() }
    }

    /// The number of the last.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Takes over the last purge at a place from an earlier life of the process.
    pub(crate) fn resume_place(&mut self, place: u32, soft: bool, number: u64) {
        self.last = self.last.max(number);
        self.places.resize(PLACES, Last::default());
        if let Some(last) = self.places.get_mut(place as usize) {
            *(if soft { &mut last.soft } else { &mut last.hard }) = number;
        }
    }

    /// Takes over a purge of a prefix; in the order of their numbers.
    pub(crate) fn resume_prefix(&mut self, (host, start): Prefix, soft: bool, number: u64) {
        self.last = self.last.max(number);
        self.add_prefix(PrefixPurge { number, soft, host, start });
    }

    /// Judges an answer whose fetch began at `stamp`.
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
    /// The place of its purges, the same in every process; `None` for a prefix.
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
