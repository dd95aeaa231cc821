//! Keeps the keys of memory sorted, and by their tags, and finds those that a purge covers.
//!
//! Invariant: while a shard is unlocked, it holds exactly the keys that the engine holds in its
//! shard of the same number. `memory` sees to that: every change of a key's content holds the lock
//! of its shard here.
//! A search costs a logarithm of the number of keys for each key found. An area on every host also
//! costs one for each host. A search stops after as many keys as the caller wants, and goes on from
//! there, so that `memory` can release the lock.
//! Searches rely on the form of keys (`key`). What they cost is measured in
//! docs/decisions/cache.md. Another structure needs other bytes in `memory/weight.rs`
//! (`INDEX_BYTES`) and in `tags` (`TAG_BYTES`). Never here: entries.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::area::Area;
use crate::fingerprint::fingerprint;
use crate::key::SharedKey;
use crate::memory::engine::shard_of;
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
    /// Sorted by tag, then by the hash of the key, so that a comparison rarely reads a whole key.
    tags: BTreeSet<(u64, u64, SharedKey)>,
}

/// The position of a search in one shard; it goes on from here.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    area: &'a Area,
    from: Vec<u8>,
    /// The hash of that key, for a search by tag.
    from_hash: u64,
}

impl KeyIndex {
    /// Returns an index without keys, in as many shards as the engine has.
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| Mutex::default()).collect() }
    }

    /// Locks the shard of a key with this hash.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, IndexShard> {
        self.shards[shard_of(hash, self.shards.len())].lock()
    }

    /// Returns every shard in turn.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Mutex<IndexShard>> {
        self.shards.iter()
    }
}

impl IndexShard {
    /// Adds a key of this hash, with the tags of its content.
    pub(crate) fn add(&mut self, hash: u64, key: &SharedKey, tags: &Tags) {
        self.remove(hash, key);
        self.tags.extend(tags.iter().map(|tag| (*tag, hash, Arc::clone(key))));
        self.keys.insert(Arc::clone(key), tags.clone());
    }

    /// Removes a key of this hash.
    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) {
        if let Some((key, tags)) = self.keys.remove_entry(key) {
            for tag in tags.iter() {
                self.tags.remove(&(*tag, hash, Arc::clone(&key)));
            }
        }
    }

    /// Removes every key.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.tags.clear();
    }

    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the next keys that a search finds, at most `count`.
    pub(crate) fn find(&self, search: &mut Search<'_>, count: usize) -> Vec<SharedKey> {
        let mut found: Vec<SharedKey> = Vec::new();
        while found.len() < count
            && let Some(key) = self.next(search)
        {
            search.from.clear();
            search.from.extend_from_slice(&key);
            // With a zero byte added, this is the least key after the one found.
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
            area => {
                let span = area.span()?;
                let first_at = |from: &[u8]| {
                    let range = (Bound::Included(from), Bound::Unbounded);
                    let first = self.keys.range::<[u8], _>(range).next();
                    Ok::<_, Infallible>(first.map(|(key, _)| Arc::clone(key)))
                };
                let Ok(key) = span.next(&mut search.from, first_at);
                key
            }
        }
    }
}

impl<'a> Search<'a> {
    /// Returns a search for the keys that an area covers.
    pub(crate) fn new(area: &'a Area) -> Self {
        Self { area, from: Vec::new(), from_hash: 0 }
    }
}

#[cfg(test)]
mod tests;
