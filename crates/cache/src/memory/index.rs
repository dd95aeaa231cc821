//! The keys that memory holds, in order, and their tags: what a purge looks through.
//!
//! Invariant: while nobody holds the lock of a shard, a key is in it just when the engine holds it.
//! Whoever changes what stands under a key holds the lock of its shard meanwhile; what the engine
//! evicts for it is in the same shard. Finding costs the logarithm of what is held and what is
//! found, whatever else is held. A lock is held for a few dozen keys at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::fingerprint::fingerprint;
use crate::key;
use crate::key::SharedKey;
use crate::memory::engine::shard_of;
use crate::purge::Area;
use crate::tags::Tags;

/// All keys.
#[derive(Debug)]
pub(crate) struct KeyIndex {
    shards: Vec<Mutex<IndexShard>>,
}

/// The keys of one shard.
#[derive(Debug, Default)]
pub(crate) struct IndexShard {
    keys: BTreeMap<SharedKey, Tags>,
    /// By tag and the key's hash, so that finding a place looks at few keys.
    tags: BTreeSet<(u64, u64, SharedKey)>,
}

/// Where a search in one shard stands: keys from here on are still to be looked at.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    area: &'a Area,
    from: Vec<u8>,
    /// The hash of that key, where tags are searched.
    from_hash: u64,
}

impl KeyIndex {
    /// No keys, in as many shards as the engine has.
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| Mutex::default()).collect() }
    }

    /// The shard of a key with this hash.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, IndexShard> {
        self.shards[shard_of(hash, self.shards.len())].lock()
    }

    /// Every shard in turn.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<IndexShard>> {
        self.shards.iter()
    }
}

impl IndexShard {
    /// Notes a key of this hash with the tags of what stands under it.
    pub(crate) fn add(&mut self, hash: u64, key: &SharedKey, tags: &Tags) {
        self.remove(hash, key);
        self.tags.extend(tags.iter().map(|tag| (*tag, hash, Arc::clone(key))));
        self.keys.insert(Arc::clone(key), tags.clone());
    }

    /// Forgets a key of this hash.
    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) {
        if let Some((key, tags)) = self.keys.remove_entry(key) {
            for tag in tags.iter() {
                self.tags.remove(&(*tag, hash, Arc::clone(&key)));
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.tags.clear();
    }

    /// Keys held.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The next keys that a search finds, at most `count`.
    pub(crate) fn find(&self, search: &mut Search<'_>, count: usize) -> Vec<SharedKey> {
        let mut found: Vec<SharedKey> = Vec::new();
        while found.len() < count
            && let Some(key) = self.next(search)
        {
            search.from.clear();
            search.from.extend_from_slice(&key);
            // The least key behind this one.
            search.from.push(0);
            found.push(key);
        }
        found
    }

    fn next(&self, search: &mut Search<'_>) -> Option<SharedKey> {
        match search.area {
            Area::Tag(tag) => {
                let tag = fingerprint(tag.as_bytes());
                let from = (tag, search.from_hash, SharedKey::from(&*search.from));
                let next = self.tags.range(from..).next().filter(|next| next.0 == tag);
                let (_, hash, key) = next?;
                search.from_hash = *hash;
                Some(Arc::clone(key))
            }
            Area::Resource(host, target) => {
                self.next_in(host.as_deref(), target, &mut search.from, true)
            }
            Area::Prefix(host, start) => {
                self.next_in(host.as_deref(), start, &mut search.from, false)
            }
        }
    }

    /// The next key of this host, or of any, whose resource is `start`, or only begins so.
    fn next_in(
        &self,
        host: Option<&str>,
        start: &str,
        from: &mut Vec<u8>,
        whole: bool,
    ) -> Option<SharedKey> {
        loop {
            let range = (Bound::Included(&**from), Bound::Unbounded);
            let (key, _) = self.keys.range::<[u8], _>(range).next()?;
            let resource = key::Resource::of_key(key);
            let here = host.map_or(resource.host, str::as_bytes);
            let wanted = key::resource_bytes(here, start.as_bytes());
            let covered = key.strip_prefix(&*wanted);
            if covered.is_some_and(|rest| !whole || matches!(rest, [] | [b'\n', ..])) {
                return Some(Arc::clone(key));
            }
            // Not there yet: on to where the first one would stand, or to the next host.
            *from = match wanted.as_slice() > &**key {
                true => wanted,
                false if host.is_some() => return None,
                false => key::behind_host(here),
            };
        }
    }
}

impl<'a> Search<'a> {
    /// A search for what an area covers.
    pub(crate) fn new(area: &'a Area) -> Self {
        Self { area, from: Vec::new(), from_hash: 0 }
    }
}

#[cfg(test)]
mod tests;
