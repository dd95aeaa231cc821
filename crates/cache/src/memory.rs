//! Stored responses by key in memory, within a byte budget, with admission that resists scans.
//!
//! Invariants: the full key is compared, never its hash alone, so no two requests can be taken for
//! each other. A key whose response varies leads to the names of the request fields, and the
//! response stands under the key extended by their values. What stays is the engine's choice.
//! Whoever changes what stands under a key holds the lock of its shard of the index meanwhile,
//! which keeps the keys of the engine's shard of the same number.

mod content;
mod engine;
mod index;
mod weight;

use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::RandomState;

use crate::encodings::Encodings;
use crate::entry::Entry;
use crate::key::{EntryKey, KeyBytes, SharedKey, extend_by_variant};
use crate::purge::{Area, PurgeVerdict, Purges};

use content::Content;
use engine::S3Fifo;
use index::{KeyIndex, Search};

/// Keys that a purge looks after before it lets others at their shard.
const PURGED_AT_ONCE: usize = 64;
/// Parts of the memory hold the largest body that is stored so many times.
const LARGEST_IN_SHARD: u64 = 4;
/// A part that is smaller has too few entries to choose from.
const SHARD_BYTES_MIN: u64 = 1 << 20;

/// Stored responses.
#[derive(Debug)]
pub(crate) struct Memory {
    engine: S3Fifo<Content>,
    hasher: RandomState,
    index: KeyIndex,
    /// What was purged.
    pub(crate) purges: Purges,
}

/// What a look-up found.
#[derive(Debug)]
pub struct LookUp {
    /// The entry, however old.
    pub entry: Option<Arc<Entry>>,
    /// The base key has entries, though perhaps none for this request's variant.
    pub known: bool,
}

impl LookUp {
    /// The reason why the cache does not answer, in the words of RFC 9211 §2.2.
    pub fn reason(&self, now: Instant) -> &'static str {
        match &self.entry {
            Some(entry) if entry.is_fresh(now) => "request",
            Some(_) => "stale",
            None if self.known => "vary-miss",
            None => "uri-miss",
        }
    }

    /// The same without an entry that is not for a request that shows its client's `credentials`.
    pub fn allowed(mut self, credentials: bool) -> Self {
        self.entry = self.entry.filter(|entry| !credentials || entry.open);
        self
    }
}

impl Memory {
    /// Holds nothing yet: at most `bytes_max` bytes, for bodies of at most `body_bytes_max`.
    pub(crate) fn new(bytes_max: u64, body_bytes_max: u64) -> Self {
        let shard_min = body_bytes_max.saturating_mul(LARGEST_IN_SHARD).max(SHARD_BYTES_MIN);
        let engine = S3Fifo::new(bytes_max, shard_min);
        Self {
            index: KeyIndex::new(engine.shards()),
            engine,
            hasher: RandomState::default(),
            purges: Purges::default(),
        }
    }

    /// Finds the entry for a request; extends `key` by the values of fields that it varies by,
    /// which `selecting` appends.
    pub(crate) fn look_up(
        &self,
        key: &mut KeyBytes,
        selecting: impl Fn(&str, &mut KeyBytes),
    ) -> LookUp {
        match self.content(key) {
            None => LookUp { entry: None, known: false },
            Some(Content::Entry(entry)) => LookUp { entry: Some(entry), known: true },
            Some(Content::Varies(names)) => {
                extend_by_variant(key, &names, selecting);
                LookUp { entry: self.get(key), known: true }
            }
        }
    }

    /// Finds the entry that stands under exactly this key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        match self.content(key)? {
            Content::Entry(entry) => Some(entry),
            Content::Varies(_) => None,
        }
    }

    /// Stores a response; a purge since its fetch began makes it stale, or forbids it.
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

    /// Counts the bytes of an entry's codings, after one was made.
    pub(crate) fn recount(&self, encodings: &Arc<Encodings>) {
        let Some(key) = encodings.cache_key() else { return };
        // Only of the entry that stands there does the engine keep a count.
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

    /// Forgets what stands under exactly this key, and with it the variants it leads to.
    pub(crate) fn remove(&self, bytes: &[u8]) {
        let hash = self.hash(bytes);
        let mut shard = self.index.lock(hash);
        shard.remove(hash, bytes);
        let removed = self.engine.remove(hash, bytes);
        drop(shard);
        drop(removed);
    }

    /// Purges what the areas cover: forgets it, or with `soft` makes it stale. Returns the number
    /// of entries that were there, or fresh. What is being fetched meanwhile is judged when it
    /// comes.
    pub(crate) fn purge(&self, areas: &[Area], soft: bool) -> usize {
        self.purges.record(areas, soft);
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

    /// Forgets a key; returns whether an entry stood under it.
    fn purge_key(&self, shard: &mut index::IndexShard, key: &[u8]) -> bool {
        let hash = self.hash(key);
        shard.remove(hash, key);
        matches!(self.engine.remove(hash, key), Some(Content::Entry(_)))
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

    /// Keys held, those of names included.
    pub(crate) fn entries(&self) -> usize {
        self.engine.len()
    }

    /// Keys in the index.
    pub(crate) fn indexed(&self) -> usize {
        self.index.shards().map(|shard| shard.lock().len()).sum()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        self.engine.weight()
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let mut shards: Vec<_> = self.index.shards().map(parking_lot::Mutex::lock).collect();
        shards.iter_mut().for_each(|shard| shard.clear());
        self.engine.clear();
    }

    /// Puts content under its key.
    fn put(&self, key: SharedKey, content: Content) {
        let hash = self.hash(&key);
        let mut shard = self.index.lock(hash);
        shard.add(hash, &key, content.tags());
        let evicted = self.insert(&mut shard, hash, key, content);
        drop(shard);
        drop(evicted);
    }

    /// Has the engine keep content whose key is in the index, and takes out of the index what had
    /// to make room.
    fn insert(
        &self,
        shard: &mut index::IndexShard,
        hash: u64,
        key: SharedKey,
        content: Content,
    ) -> engine::Evicted<Content> {
        let weight = weight::of(&key, &content);
        let evicted = self.engine.insert(hash, key, content, weight);
        for (hash, key, _) in &evicted {
            shard.remove(*hash, key);
        }
        evicted
    }

    fn content(&self, bytes: &[u8]) -> Option<Content> {
        self.engine.get(self.hash(bytes), bytes)
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }
}
