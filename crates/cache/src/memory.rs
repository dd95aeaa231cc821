//! Holds the first tier: stored responses by key in memory, within a byte budget.
//!
//! If a response varies, its base key holds the names of the request fields. The response itself is
//! stored under the key extended by their values. [`LookUp`] also words why the cache does not
//! answer; clients see these words as `fwd` of `Cache-Status` (RFC 9211).
//! Invariants: every change of a key's content holds the lock of its shard of the `index`. Index
//! and engine have the same shards, and the same keys in each. A response is judged by the `purge`
//! record, which is locked until it is stored. The full key is compared, never only its hash
//! (`engine`). The hash differs from run to run; nothing may keep it.
//! What is heavier than a shard of the budget is not kept. An entry that leaves while a reply still
//! needs it is charged to the budget of requests under way. A purge handles at most 64 keys under
//! one lock. Never here: which entry is evicted (`engine`), what an entry weighs (`weight`), and
//! what may be stored.

mod content;
mod engine;
mod index;
mod weight;

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use chassis::Inflight;
use foldhash::fast::RandomState;

use crate::area::Area;
use crate::encodings::Encodings;
use crate::entry::Entry;
use crate::key::{EntryKey, KeyBytes, SharedKey, extend_by_variant};
use crate::purge::{PurgeVerdict, Purges};

use content::Content;
use engine::S3Fifo;
use index::{KeyIndex, Search};

/// Keys that a purge handles before it releases the lock of their shard.
const PURGED_AT_ONCE: usize = 64;
/// A shard has room for this many bodies of the largest size.
const LARGEST_IN_SHARD: u64 = 4;
/// Bytes of a shard; a smaller one has too few entries to choose from.
const SHARD_BYTES_MIN: u64 = 1 << 20;

/// Stored responses.
#[derive(Debug)]
pub(crate) struct Memory {
    engine: S3Fifo<Content>,
    hasher: RandomState,
    index: KeyIndex,
    /// The budget for what has left, and is still in use.
    budget: Arc<Inflight>,
    /// The record of purges.
    pub(crate) purges: Arc<Purges>,
}

/// The result of a look-up in memory.
#[derive(Debug)]
pub struct LookUp {
    /// The entry, fresh or stale.
    pub entry: Option<Arc<Entry>>,
    /// Whether the base key has entries, though perhaps none for the variant of this request.
    pub known: bool,
    /// Whether there is an entry that the request must not have.
    is_withheld: bool,
}

impl LookUp {
    /// Returns the reason why the cache does not answer, in the terms of RFC 9211 §2.2.
    pub fn reason(&self, now: Instant) -> &'static str {
        match &self.entry {
            Some(entry) if entry.is_fresh(now) => "request",
            Some(_) => "stale",
            None if self.is_withheld => "request",
            None if self.known => "vary-miss",
            None => "uri-miss",
        }
    }

    /// Drops the entry if the request shows `credentials` and the entry is not open to those.
    pub fn allowed(mut self, credentials: bool) -> Self {
        self.is_withheld = self.entry.as_ref().is_some_and(|entry| credentials && !entry.open);
        self.entry = self.entry.filter(|_| !self.is_withheld);
        self
    }
}

impl Memory {
    /// Returns an empty tier of at most `bytes_max` bytes, for bodies of at most `body_bytes_max`.
    ///
    /// What leaves it while a reply still needs it is charged to `budget`.
    pub(crate) fn new(bytes_max: u64, body_bytes_max: u64, budget: &Arc<Inflight>) -> Self {
        let shard_min = body_bytes_max.saturating_mul(LARGEST_IN_SHARD).max(SHARD_BYTES_MIN);
        let engine = S3Fifo::new(bytes_max, shard_min);
        Self {
            index: KeyIndex::new(engine.shards()),
            engine,
            hasher: RandomState::default(),
            budget: Arc::clone(budget),
            purges: Arc::default(),
        }
    }

    /// Finds the entry for a request. If the response varies, it extends `key` by the values of
    /// those fields, which `selecting` appends.
    pub(crate) fn look_up(
        &self,
        key: &mut KeyBytes,
        selecting: impl Fn(&str, &mut KeyBytes),
    ) -> LookUp {
        match self.content(key) {
            None => LookUp { entry: None, known: false, is_withheld: false },
            Some(Content::Entry(entry)) => {
                LookUp { entry: Some(entry), known: true, is_withheld: false }
            }
            Some(Content::Varies(names)) => {
                extend_by_variant(key, &names, selecting);
                LookUp { entry: self.get(key), known: true, is_withheld: false }
            }
        }
    }

    /// Finds the entry under exactly this key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        match self.content(key)? {
            Content::Entry(entry) => Some(entry),
            Content::Varies(_) => None,
        }
    }

    /// Stores a response. If a purge since the start of its fetch covers it, the response is stored
    /// as stale, or not at all.
    pub(crate) fn store(&self, address: &EntryKey<'_>, entry: Arc<Entry>) -> PurgeVerdict {
        let purges = self.purges.hold();
        let verdict = purges.verdict(entry.stamp, address.key, &entry.tags);
        let entry = match verdict {
            PurgeVerdict::Good => entry,
            PurgeVerdict::Stale => entry.made_stale(Instant::now()),
            PurgeVerdict::Gone => return verdict,
        };
        if !address.names.is_empty() {
            self.put(address.base.into(), Content::Varies(Arc::clone(address.names)));
        }
        let key = SharedKey::from(address.key);
        entry.encodings.iter().for_each(|encodings| encodings.note_cache_key(&key));
        self.put(key, Content::Entry(entry));
        verdict
    }

    /// Counts the bytes of an entry's encodings, after one was made.
    pub(crate) fn recount(&self, encodings: &Arc<Encodings>) {
        let Some(key) = encodings.cache_key() else { return };
        // The engine counts the bytes only of the entry that is still stored under the key.
        let is_there = |content: &Content| match content {
            Content::Entry(entry) => {
                entry.encodings.as_ref().is_some_and(|stored| Arc::ptr_eq(stored, encodings))
            }
            Content::Varies(_) => false,
        };
        let hash = self.hash(key);
        let mut shard = self.index.lock(hash);
        if let Some(content) = self.engine.peek(hash, key).filter(is_there) {
            encodings.count_bytes();
            self.insert(&mut shard, hash, Arc::clone(key), content);
        }
    }

    /// Forgets the content of exactly this key. If it holds the names of request fields, its
    /// variants can no longer be found.
    pub(crate) fn remove(&self, bytes: &[u8]) {
        let hash = self.hash(bytes);
        let mut shard = self.index.lock(hash);
        shard.remove(hash, bytes);
        let removed = self.engine.remove(hash, bytes);
        drop(shard);
        removed.iter().for_each(|content| self.leave(content));
    }

    /// Purges the entries that the areas cover: removes them, or with `soft` makes them stale.
    /// Returns their number. A response whose fetch is under way is judged when it is stored.
    /// `queue` takes the number of the purge for the disk.
    pub(crate) fn purge(&self, areas: &[Area], soft: bool, queue: impl FnOnce(u64)) -> usize {
        self.purges.record(areas, soft, queue);
        areas.iter().map(|area| self.purge_area(area, soft)).sum()
    }

    fn purge_area(&self, area: &Area, soft: bool) -> usize {
        let mut entries = 0;
        for shard in self.index.shards() {
            let mut search = Search::new(area);
            loop {
                let mut shard = shard.lock();
                let found = shard.find(&mut search, PURGED_AT_ONCE);
                if found.is_empty() {
                    break;
                }
                for key in found {
                    let was_there = match soft {
                        true => self.make_stale(&mut shard, key),
                        false => self.purge_key(&mut shard, &key),
                    };
                    entries += usize::from(was_there);
                }
            }
        }
        entries
    }

    /// Forgets a key; returns whether it held an entry.
    fn purge_key(&self, shard: &mut index::IndexShard, key: &[u8]) -> bool {
        let hash = self.hash(key);
        shard.remove(hash, key);
        let removed = self.engine.remove(hash, key);
        let was_entry = matches!(removed, Some(Content::Entry(_)));
        removed.iter().for_each(|content| self.leave(content));
        was_entry
    }

    /// Makes a fresh entry stale; returns whether there was one.
    fn make_stale(&self, shard: &mut index::IndexShard, key: SharedKey) -> bool {
        let hash = self.hash(&key);
        let Some(Content::Entry(entry)) = self.engine.peek(hash, &key) else { return false };
        let now = Instant::now();
        let is_fresh = entry.is_fresh(now);
        if is_fresh {
            self.insert(shard, hash, key, Content::Entry(entry.made_stale(now)));
        }
        is_fresh
    }

    /// Returns how far purges cover an entry that was found under a key before now.
    pub(crate) fn verdict(&self, key: &[u8], entry: &Arc<Entry>) -> PurgeVerdict {
        let records = self.purges.hold();
        let content = self.engine.peek(self.hash(key), key);
        let is_it =
            |content| matches!(content, Content::Entry(stored) if Arc::ptr_eq(&stored, entry));
        // A purge that is no longer remembered has walked through memory long since.
        let floor = if content.is_some_and(is_it) { records.floor() } else { 0 };
        records.verdict(entry.stamp.max(floor), key, &entry.tags)
    }

    /// Returns the number of keys, those with names of fields included.
    pub(crate) fn entries(&self) -> usize {
        self.engine.len()
    }

    /// Returns the number of keys in the index.
    pub(crate) fn indexed(&self) -> usize {
        self.index.shards().map(|shard| shard.lock().len()).sum()
    }

    /// Returns the bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.engine.weight()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let mut shards: Vec<_> = self.index.shards().map(parking_lot::Mutex::lock).collect();
        shards.iter_mut().for_each(|shard| shard.clear());
        self.engine.clear();
    }

    /// Stores content under its key.
    fn put(&self, key: SharedKey, content: Content) {
        let hash = self.hash(&key);
        let mut shard = self.index.lock(hash);
        shard.add(hash, &key, content.tags());
        let left = self.insert(&mut shard, hash, key, content);
        drop(shard);
        drop(left);
    }

    /// Inserts content into the engine, and removes the evicted keys from the index. The key of the
    /// content must be in the index already. Returns what left, to be dropped without a lock.
    fn insert(
        &self,
        shard: &mut index::IndexShard,
        hash: u64,
        key: SharedKey,
        content: Content,
    ) -> (engine::Evicted<Content>, Option<Content>) {
        let weight = weight::of(&key, &content);
        content.tracked().iter().for_each(|body| body.enter());
        let (evicted, replaced) = self.engine.insert(hash, key, content, weight);
        for (hash, key, content) in &evicted {
            shard.remove(*hash, key);
            self.leave(content);
        }
        replaced.iter().for_each(|content| self.leave(content));
        (evicted, replaced)
    }

    /// Charges what has left, as long as a reply still needs it.
    fn leave(&self, content: &Content) {
        content.tracked().iter().for_each(|body| body.leave(&self.budget));
    }

    fn content(&self, bytes: &[u8]) -> Option<Content> {
        self.engine.get(self.hash(bytes), bytes)
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }
}

#[cfg(test)]
mod tests;
