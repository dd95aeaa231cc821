//! Joins both tiers to one store: look up, recall from disk, store, forget, purge, encode.
//!
//! Invariants: a look-up in memory waits for no disk, only for the lock of a shard. A recall never
//! returns a response that was replaced or forgotten while it was read, and leaves none in memory.
//! It stores the response in memory, then compares the marks of its keys, and removes it if a mark
//! has changed. A look-up in between may see it.
//! A response goes to disk when it is stored, not when memory evicts it (docs/decisions/cache.md).
//! The disk is changed before memory, so that this comparison finds each change. A purge is first
//! recorded and queued for the disk, then made in memory. What comes from disk meanwhile is judged
//! by the record.
//! Where there is a disk, every recall that ends counts once, as a hit, as stale or as a miss. One
//! whose future is dropped counts nothing.
//! On disk a key ends with the namespace of its route (`gateway::plan::check`); another form needs
//! another `FORMAT` in `disk/log.rs`.
//! That no response older than a purge is stored as fresh, `memory` and `purge` see to. Never here:
//! what may be stored, and for how long.

use std::sync::Arc;
use std::time::Instant;

use chassis::{Inflight, WorkPool};
use exchange::Decision;
use http1::accept::Codings;
use metrics::Registry;
use parking_lot::Mutex;

use crate::area::Area;
use crate::disk::{DiskContent, DiskEntry, DiskPlan, DiskStatus, DiskTier};
use crate::encoder::Encoder;
use crate::encodings::Encodings;
use crate::entry::Entry;
use crate::key::{EntryKey, FieldNames, KeyBytes, extend_by_variant};
use crate::memory::{LookUp, Memory};
use crate::purge::PurgeVerdict;

/// The size of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePlan {
    /// Bytes of memory, bookkeeping included.
    pub bytes_max: u64,
    /// Bytes of a body; a longer one is not stored.
    pub body_bytes_max: u64,
    /// The second tier, if there is one.
    pub disk: Option<DiskPlan>,
}

/// Both tiers as one store.
#[derive(Debug)]
pub struct Store {
    memory: Arc<Memory>,
    disk: Option<DiskTier>,
    encoder: Arc<Encoder>,
}

/// A look-up on disk.
#[derive(Debug)]
pub struct Recall<'k> {
    /// The namespace to look in: only responses that were stored in it are found.
    pub namespace: u64,
    /// The key. If the response varies, the look-up extends it by the values of those fields.
    pub key: &'k mut KeyBytes,
    /// Bytes of the key without its variant.
    pub base_length: usize,
    /// Whether the origin sees the client's credentials; then only an open entry may answer.
    pub shows_credentials: bool,
    /// The codings that the route offers.
    pub codings: Option<Codings>,
}

/// The result of a look-up on disk.
#[derive(Debug)]
pub enum Recalled {
    /// A response that may be used as it is.
    Usable(Arc<Entry>),
    /// A response to revalidate with the origin.
    Stale(Arc<Entry>),
    /// No response.
    Missing,
}

impl Store {
    /// Opens a store. Memory begins empty, the disk as the last run left it. `work` encodes bodies.
    pub fn open(
        plan: StorePlan,
        work: WorkPool,
        budget: &Arc<Inflight>,
        registry: &Registry,
    ) -> Arc<Self> {
        let memory = Memory::new(plan.bytes_max, plan.body_bytes_max, budget);
        let memory = Arc::new(memory);
        let encoder = Encoder::new(Arc::clone(&memory), work, registry);
        let purges = &memory.purges;
        let disk = plan.disk.and_then(|disk| DiskTier::open(disk, Arc::clone(purges), registry));
        Arc::new(Self { memory, disk, encoder })
    }

    /// Finds the entry for a request in memory. If the response varies, it extends `key` by the
    /// values of those fields, which `selecting` appends.
    pub fn look_up(&self, key: &mut KeyBytes, selecting: impl Fn(&str, &mut KeyBytes)) -> LookUp {
        self.memory.look_up(key, selecting)
    }

    /// Finds the entry in memory under exactly this key.
    pub fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.memory.get(key)
    }

    /// Stores a response in memory, and in a namespace of the disk if one is given. If a purge
    /// since the start of its fetch covers it, the response is stored as stale, or not at all.
    pub fn store(
        &self,
        address: &EntryKey<'_>,
        namespace: Option<u64>,
        entry: Arc<Entry>,
    ) -> PurgeVerdict {
        if let Some((disk, namespace)) = self.disk.as_ref().zip(namespace) {
            if !address.names.is_empty() {
                disk.keep_names(&key_on_disk(namespace, address.base), address.names);
            }
            disk.keep(&key_on_disk(namespace, address.key), &entry);
        }
        self.memory.store(address, entry)
    }

    /// Looks for a response on disk, and stores it in memory. `selecting` appends the values of the
    /// fields that it varies by. `is_usable` decides whether it may be used as it is.
    pub async fn recall(
        &self,
        mut recall: Recall<'_>,
        selecting: impl Fn(&str, &mut KeyBytes),
        is_usable: impl Fn(&Entry, Instant) -> bool,
    ) -> Recalled {
        let Some(disk) = &self.disk else { return Recalled::Missing };
        let found = find(disk, &mut recall, selecting).await;
        let found = found.filter(|found| found.kept.entry.open || !recall.shows_credentials);
        let Some(entry) = found.and_then(|found| self.promote(disk, &recall, found)) else {
            disk.note_miss();
            return Recalled::Missing;
        };
        if is_usable(&entry, Instant::now()) {
            disk.note_hit();
            return Recalled::Usable(entry);
        }
        disk.note_stale();
        Recalled::Stale(entry)
    }

    /// Stores a response from disk in memory, unless it was purged or changed since it was read.
    fn promote(&self, disk: &DiskTier, recall: &Recall<'_>, found: OnDisk) -> Option<Arc<Entry>> {
        let entry = offered(recall.codings, found.kept);
        let base = &recall.key[..recall.base_length];
        let address = EntryKey { base, names: &found.names, key: recall.key };
        let stored = self.memory.store(&address, Arc::clone(&entry));
        if stored == PurgeVerdict::Gone {
            return None;
        }
        // A purge may have made the copy in memory stale. A body too large for memory is not there.
        let in_memory = self.memory.get(recall.key);
        if found.marks.iter().any(|(key, mark)| disk.mark(key) != *mark) {
            self.memory.remove(recall.key);
            return None;
        }
        in_memory.or_else(|| (stored == PurgeVerdict::Good).then_some(entry))
    }

    /// Forgets the response under exactly this key, on disk and in memory.
    pub fn forget(&self, namespace: Option<u64>, key: &[u8]) {
        // The disk first: a response that is promoted meanwhile is then removed from memory too.
        if let Some((disk, namespace)) = self.disk.as_ref().zip(namespace) {
            disk.forget(&key_on_disk(namespace, key));
        }
        self.memory.remove(key);
    }

    /// Purges areas in memory, and a moment later on disk. A hard purge forgets the entries that
    /// the areas cover; a `soft` one makes them stale. Returns the number of entries in memory
    /// that it removed or made stale.
    pub fn purge(&self, areas: &[Area], soft: bool) -> usize {
        self.memory.purge(areas, soft, |number| {
            self.disk.iter().for_each(|disk| disk.purged(areas, soft, number));
        })
    }

    /// Waits until every purge so far survives a power cut, for a bounded time. Returns false if it
    /// does not yet. Without this call a purge is durable within a flush of the disk.
    pub fn flush_purges(&self) -> bool {
        self.disk.as_ref().is_none_or(DiskTier::flush_purges)
    }

    /// Returns the stamp of a fetch that begins: the number of the last purge before it.
    pub fn stamp(&self) -> u64 {
        self.memory.purges.stamp()
    }

    /// Returns how far purges cover an entry that was found under a key, or fetched for it.
    pub fn verdict(&self, key: &[u8], entry: &Arc<Entry>) -> PurgeVerdict {
        self.memory.verdict(key, entry)
    }

    /// Encodes an entry in the coding that a request prefers, unless that is done already. `liked`
    /// returns the preferred ones of the codings offered.
    pub async fn prepare(
        &self,
        entry: &Arc<Entry>,
        decision: Decision,
        liked: impl FnOnce(Codings) -> Codings,
    ) {
        self.encoder.prepare(entry, decision, liked).await;
    }

    /// Returns the number of keys in memory.
    pub fn entries(&self) -> usize {
        self.memory.entries()
    }

    /// Returns the bytes of memory in use.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Forgets all entries in memory.
    pub fn clear_memory(&self) {
        self.memory.clear();
    }

    /// Returns the number of keys that a purge finds in memory. While nothing is being stored, it
    /// equals [`Self::entries`].
    #[doc(hidden)]
    pub fn indexed(&self) -> usize {
        self.memory.indexed()
    }

    /// Blocks all readers of the disk until the gate is unlocked; for tests.
    #[doc(hidden)]
    pub fn hold_readers(&self, gate: &Arc<Mutex<()>>) {
        self.disk.iter().for_each(|disk| disk.hold_readers(gate));
    }

    /// Returns the status of the second tier, if there is one.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.disk.as_ref().map(DiskTier::status)
    }
}

/// A response that was found on disk.
struct OnDisk {
    kept: DiskEntry,
    /// The request fields that the response varies by.
    names: FieldNames,
    /// The keys that led to it, with their marks from before the read.
    marks: [(Vec<u8>, u64); 2],
}

async fn find(
    disk: &DiskTier,
    recall: &mut Recall<'_>,
    selecting: impl Fn(&str, &mut KeyBytes),
) -> Option<OnDisk> {
    let marked = |key: &[u8]| {
        let key = key_on_disk(recall.namespace, key);
        let mark = disk.mark(&key);
        (key, mark)
    };
    let base = marked(&recall.key[..recall.base_length]);
    let exact = marked(recall.key);
    let names = match disk.find(&exact.0).await? {
        DiskContent::Entry(kept) => {
            return Some(OnDisk { kept, names: Arc::new([]), marks: [base, exact] });
        }
        DiskContent::Varies(names) if recall.key.len() == recall.base_length => names,
        DiskContent::Varies(_) => return None,
    };
    let mut variant = recall.key.clone();
    extend_by_variant(&mut variant, &names, selecting);
    let exact = marked(&variant);
    let DiskContent::Entry(kept) = disk.find(&exact.0).await? else { return None };
    *recall.key = variant;
    Some(OnDisk { kept, names, marks: [base, exact] })
}

/// Returns a response from disk with the codings that its route offers now.
fn offered(codings: Option<Codings>, kept: DiskEntry) -> Arc<Entry> {
    let Some(codings) = codings.filter(|_| kept.has_encodings) else { return kept.entry };
    let mut entry = Arc::unwrap_or_clone(kept.entry);
    let new = || Arc::new(Encodings::new(codings, entry.decision_at.is_some()));
    entry.encodings.get_or_insert_with(new);
    Arc::new(entry)
}

/// Returns the key on disk: the key, then the namespace. So the keys of a resource stand together.
fn key_on_disk(namespace: u64, key: &[u8]) -> Vec<u8> {
    [key, b"\n", &namespace.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests;
