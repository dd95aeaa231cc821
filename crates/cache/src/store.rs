//! Both tiers as one store: look up, bring back from disk, keep, forget, purge.
//!
//! Invariants: what memory holds answers without waiting for anything; an older response never
//! comes back from disk, whatever changed while it was read: the key's mark is compared after the
//! response was stored in memory, so that whoever forgets it, forgets it there too. A response
//! whose fetch began before a purge of it is never stored as fresh.

use std::sync::Arc;
use std::time::Instant;

use chassis::WorkPool;
use exchange::Decision;
use http1::accept::Codings;
use metrics::Registry;
use parking_lot::Mutex;

use crate::disk::{DiskContent, DiskEntry, DiskPlan, DiskStatus, DiskTier};
use crate::encoder::Encoder;
use crate::encodings::Encodings;
use crate::entry::Entry;
use crate::key::{EntryKey, FieldNames, KeyBytes, extend_by_variant};
use crate::memory::{LookUp, Memory};
use crate::purge::{Area, PurgeVerdict};
use crate::tags::Tags;

/// How large the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorePlan {
    /// Bytes of memory, bookkeeping included.
    pub bytes_max: u64,
    /// The longest body that is stored.
    pub body_bytes_max: u64,
    /// The second tier.
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
    /// Whose responses are looked through: those that were kept in the same namespace.
    pub namespace: u64,
    /// The key; where the disk knows by which fields the response varies, it is extended by them.
    pub key: &'k mut KeyBytes,
    /// Bytes of the key without its variant.
    pub base_length: usize,
    /// Whether the origin is shown who asks: then only an open entry may answer.
    pub shows_credentials: bool,
    /// The codings offered.
    pub codings: Option<Codings>,
}

/// What a look-up on disk brought.
#[derive(Debug)]
pub enum Recalled {
    /// A response that may be used as it is.
    Usable(Arc<Entry>),
    /// A response that the origin can be asked about.
    Stale(Arc<Entry>),
    /// Nothing.
    Missing,
}

impl Store {
    /// Opens a store: what the disk holds, and nothing in memory; it encodes on `work`.
    pub fn open(plan: StorePlan, work: WorkPool, registry: &Registry) -> Arc<Self> {
        let memory = Arc::new(Memory::new(plan.bytes_max, plan.body_bytes_max));
        let encoder = Encoder::new(Arc::clone(&memory), work, registry);
        let disk = plan.disk.and_then(|disk| DiskTier::open(disk, registry));
        Arc::new(Self { memory, disk, encoder })
    }

    /// Finds the entry for a request in memory; extends `key` by the values of the fields that it
    /// varies by, which `selecting` appends.
    pub fn look_up(&self, key: &mut KeyBytes, selecting: impl Fn(&str, &mut KeyBytes)) -> LookUp {
        self.memory.look_up(key, selecting)
    }

    /// Finds the entry that stands in memory under exactly this key.
    pub fn get(&self, key: &[u8]) -> Option<Arc<Entry>> {
        self.memory.get(key)
    }

    /// Stores a response in memory, and in a namespace of the disk. A purge since its fetch began
    /// makes it stale, or forbids it.
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

    /// Looks for a response on disk and brings it to memory; `selecting` appends the values of the
    /// fields that it varies by, `is_usable` judges whether it may be used as it is.
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

    /// Brings a response to memory, unless it was purged or changed since it was read.
    fn promote(&self, disk: &DiskTier, recall: &Recall<'_>, found: OnDisk) -> Option<Arc<Entry>> {
        let verdict = disk.verdict(&found.kept, recall.key);
        let entry = restamped(disk.stamp(&found.kept), recall.codings, found.kept);
        let entry = match verdict {
            PurgeVerdict::Good => entry,
            PurgeVerdict::Stale => entry.made_stale(Instant::now()),
            PurgeVerdict::Gone => return None,
        };
        let base = &recall.key[..recall.base_length];
        let address = EntryKey { base, names: &found.names, key: recall.key };
        let stored = self.memory.store(&address, Arc::clone(&entry));
        if stored == PurgeVerdict::Gone {
            return None;
        }
        // Memory may have made it stale; one that is too large for memory is not there.
        let in_memory = self.memory.get(recall.key);
        if found.marks.iter().any(|(key, mark)| disk.mark(key) != *mark) {
            self.memory.remove(recall.key);
            return None;
        }
        in_memory.or_else(|| (stored == PurgeVerdict::Good).then_some(entry))
    }

    /// Forgets what stands under exactly this key, on disk and in memory.
    pub fn forget(&self, namespace: Option<u64>, key: &[u8]) {
        // The disk first: what is promoted meanwhile is then forgotten with memory.
        if let Some((disk, namespace)) = self.disk.as_ref().zip(namespace) {
            disk.forget(&key_on_disk(namespace, key));
        }
        self.memory.remove(key);
    }

    /// Purges areas in memory, and on disk a moment later: forgets what they cover, or with `soft`
    /// makes it stale. Returns the number of entries in memory that were there, or fresh.
    pub fn purge(&self, areas: &[Area], soft: bool) -> usize {
        let count = self.memory.purge(areas, soft);
        if let Some(disk) = &self.disk {
            disk.purged(areas, soft, self.stamp());
        }
        count
    }

    /// Waits until every purge so far is safe on disk.
    pub fn flush_purges(&self) {
        self.disk.iter().for_each(DiskTier::flush_purges);
    }

    /// The stamp of a fetch that begins: the number of the last purge before it.
    pub fn stamp(&self) -> u64 {
        self.memory.purges.stamp()
    }

    /// Judges a response whose fetch began at `stamp`.
    pub fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        self.memory.purges.verdict(stamp, key, tags)
    }

    /// Has an entry made in the coding that a request likes, unless it has been; `liked` names
    /// those it likes of the codings offered.
    pub async fn prepare(
        &self,
        entry: &Arc<Entry>,
        decision: Decision,
        liked: impl FnOnce(Codings) -> Codings,
    ) {
        self.encoder.prepare(entry, decision, liked).await;
    }

    /// Keys in memory.
    pub fn entries(&self) -> usize {
        self.memory.entries()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    /// Forgets what memory holds.
    pub fn clear_memory(&self) {
        self.memory.clear();
    }

    /// Keys that a purge finds in memory: as many as [`Self::entries`], while nobody stores.
    #[doc(hidden)]
    pub fn indexed(&self) -> usize {
        self.memory.indexed()
    }

    /// Keeps all readers of the disk busy until they may go on; for tests.
    #[doc(hidden)]
    pub fn hold_readers(&self, gate: &Arc<Mutex<()>>) {
        self.disk.iter().for_each(|disk| disk.hold_readers(gate));
    }

    /// What the second tier tells of itself, when there is one.
    pub fn disk_status(&self) -> Option<DiskStatus> {
        self.disk.as_ref().map(DiskTier::status)
    }
}

/// A response that was found on disk.
struct OnDisk {
    kept: DiskEntry,
    /// The response varies by these.
    names: FieldNames,
    /// The keys that led to it, and their marks before they were read.
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

/// The entry as this life of the process stamps it, with the codings that are offered now.
fn restamped(stamp: u64, codings: Option<Codings>, kept: DiskEntry) -> Arc<Entry> {
    let mut entry = Arc::unwrap_or_clone(kept.entry);
    entry.stamp = stamp;
    if let Some(codings) = codings.filter(|_| kept.has_encodings) {
        let new = || Arc::new(Encodings::new(codings, entry.decision_at.is_some()));
        entry.encodings.get_or_insert_with(new);
    }
    Arc::new(entry)
}

/// A key on disk begins with its namespace.
fn key_on_disk(namespace: u64, key: &[u8]) -> Vec<u8> {
    [&namespace.to_le_bytes()[..], key].concat()
}
