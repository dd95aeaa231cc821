//! Stored answers by key, within a byte budget, with admission that resists scans.
//!
//! Invariants: an entry is complete and immutable; the full key is compared, never its hash alone,
//! so no two requests can be taken for each other. A key whose answer varies leads to a slot that
//! names the request fields, and the answer stands under the key extended by their values.
//! What stays is the engine's choice; whoever changes what stands under a key holds the lock of its
//! shard of the index meanwhile, which keeps the keys of the engine's shard of the same number.

pub(crate) mod engine;
pub(crate) mod index;
mod weight;

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use foldhash::fast::RandomState;
use http1::Head;
use smallvec::SmallVec;

use crate::cache::encodings::Shapes;
use crate::cache::memory::index::{Index, Search};
use crate::cache::purge::{Area, Purges, Verdict};
use crate::cache::tags::Tags;
use crate::key::Rules;
use http1::accept::Accepted;

use engine::{Engine, SharedKey};

/// Keys that a purge looks after before it lets others at their shard.
const PURGED_AT_ONCE: usize = 64;
/// Parts of the memory hold the largest body that is stored so many times.
const LARGEST_IN_SHARD: u64 = 4;
/// A part that is smaller has too few entries to choose from.
const SHARD_BYTES_MIN: u64 = 1 << 20;

/// Time for which a stale entry is not fetched anew after that failed.
const HOLD_OFF: Duration = Duration::from_secs(1);

/// Names of request fields, in lower case, sorted.
pub(crate) type FieldNames = Arc<[Box<str>]>;

/// A key under construction; usual ones need no heap.
pub type KeyBytes = SmallVec<[u8; 192]>;

/// Age in microseconds until which an entry is not fetched anew; a copy begins with the same.
#[derive(Debug, Default)]
pub struct HeldOff(AtomicU64);

impl HeldOff {
    fn note(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    fn noted(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for HeldOff {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

/// A complete stored answer.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The status.
    pub status: u16,
    /// The fields to send, rendered, each line ended by CRLF; without `Age` and framing.
    pub fields: Bytes,
    /// Whether `fields` holds a `Date`.
    pub dated: bool,
    /// The body.
    pub body: Bytes,
    /// `ETag`, for conditional requests.
    pub etag: Option<Box<[u8]>>,
    /// `Last-Modified`, for conditional requests.
    pub last_modified: Option<Box<[u8]>>,
    /// When it had age zero.
    pub born: Instant,
    /// How long it is fresh from then.
    pub fresh: Duration,
    /// How long past that it may answer while it is fetched anew.
    pub while_revalidate: Duration,
    /// How long past that it may answer when the upstream fails.
    pub if_error: Duration,
    /// The ranking that made it.
    pub ranked_by: Option<u128>,
    /// Where the body names the decision: filled in for each request.
    pub decision_at: Option<Range<usize>>,
    /// Whether it answers only requests with the same values of some fields.
    pub varies: bool,
    /// Whether it must never answer stale.
    pub strict: bool,
    /// Whether it sets a cookie: then requests under way at once each get their own.
    pub sets_cookie: bool,
    /// Whether it may answer requests with `Authorization` (RFC 9111 §3.5).
    pub open: bool,
    /// The same answer in other codings, when it may be encoded.
    pub shapes: Option<Arc<Shapes>>,
    /// Until when it is not fetched anew.
    pub held_off: HeldOff,
    /// By which it may be purged.
    pub tags: Tags,
    /// The last purge before its fetch began: later ones may cover it.
    pub stamp: u64,
}

impl Entry {
    /// Its age.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    /// Whole seconds it will still be fresh; negative when it is stale.
    pub fn ttl_seconds(&self, now: Instant) -> i64 {
        self.fresh.as_secs() as i64 - self.age(now).as_secs() as i64
    }

    /// Whether it may answer as it is.
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.age(now) < self.fresh
    }

    /// Whether it may answer while it is fetched anew.
    pub fn may_answer_stale(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.while_revalidate
    }

    /// Whether it may answer when the upstream fails.
    pub fn may_answer_error(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.if_error
    }

    /// The same answer, stale from `now` on: its stale windows count from there.
    pub fn made_stale(&self, now: Instant) -> Arc<Self> {
        // Not zero, which would mean that each use needs a confirmation.
        let age = self.age(now).max(Duration::from_nanos(1));
        Arc::new(Self { fresh: self.fresh.min(age), ..self.clone() })
    }

    /// Keeps it from being fetched anew for a moment: an upstream that just failed is not asked by
    /// every request that finds the entry stale.
    pub fn hold_off(&self, now: Instant) {
        let until = (self.age(now) + HOLD_OFF).as_micros();
        self.held_off.note(until as u64);
    }

    /// Whether fetching it anew failed a moment ago.
    pub fn is_held_off(&self, now: Instant) -> bool {
        self.age(now).as_micros() < u128::from(self.held_off.noted())
    }
}

#[derive(Debug, Clone)]
enum Slot {
    Entry(Arc<Entry>),
    /// The answer varies by these request fields.
    Varies(FieldNames),
}

/// Stored answers.
#[derive(Debug)]
pub struct Cache {
    engine: Engine<Slot>,
    hasher: RandomState,
    index: Index,
    /// What was purged.
    pub purges: Purges,
}

/// What a look-up found, with the key under which an answer to this request is to be stored.
#[derive(Debug)]
pub struct Found {
    /// The entry, however old.
    pub entry: Option<Arc<Entry>>,
    /// The base key has entries, though perhaps none for this request's variant.
    pub known: bool,
}

impl Found {
    /// Why the cache does not answer, in the words of RFC 9211 §2.2.
    pub fn why(&self, now: Instant) -> &'static str {
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

impl Slot {
    fn tags(&self) -> &Tags {
        static NONE: std::sync::LazyLock<Tags> = std::sync::LazyLock::new(Tags::default);
        match self {
            Self::Entry(entry) => &entry.tags,
            Self::Varies(_) => &NONE,
        }
    }
}

impl Cache {
    /// An empty cache of at most `bytes_max` bytes, for answers whose bodies have at most
    /// `body_bytes_max`.
    pub fn new(bytes_max: u64, body_bytes_max: u64) -> Self {
        let shard_min = body_bytes_max.saturating_mul(LARGEST_IN_SHARD).max(SHARD_BYTES_MIN);
        let engine = Engine::new(bytes_max, shard_min);
        Self {
            index: Index::new(engine.shards()),
            engine,
            hasher: RandomState::default(),
            purges: Purges::default(),
        }
    }

    /// Finds the entry for a request; extends `key` by the values of fields that it varies by, as
    /// the upstream sees them under the route's `rules`.
    pub fn look_up(&self, key: &mut KeyBytes, head: &Head<'_>, rules: Option<&Rules>) -> Found {
        match self.get(key) {
            None => Found { entry: None, known: false },
            Some(Slot::Entry(entry)) => Found { entry: Some(entry), known: true },
            Some(Slot::Varies(names)) => {
                let editing = rules.filter(|rules| rules.edits_cookies());
                extend_by_variant(key, &names, |name, key| match editing {
                    Some(rules) if name == "cookie" => {
                        let mut line = KeyBytes::new();
                        rules.append_cookies(head, true, false, &mut line);
                        let lines = (!line.is_empty()).then_some(&line[..]);
                        append_selecting(name, lines.into_iter(), key);
                    }
                    _ => append_selecting(name, head.all(name), key),
                });
                match self.get(key) {
                    Some(Slot::Entry(entry)) => Found { entry: Some(entry), known: true },
                    _ => Found { entry: None, known: true },
                }
            }
        }
    }

    /// Finds the entry that stands under exactly this key.
    pub fn get_exact(&self, key: &[u8]) -> Option<Arc<Entry>> {
        match self.get(key)? {
            Slot::Entry(entry) => Some(entry),
            Slot::Varies(_) => None,
        }
    }

    /// Stores an answer that does not vary; a purge since its fetch began makes it stale, or
    /// forbids it.
    pub fn store(&self, key: &[u8], entry: Arc<Entry>) -> Verdict {
        self.store_varying(key, None, entry)
    }

    /// Counts the bytes of an entry's codings, after one was made.
    pub fn recount(&self, shapes: &Arc<Shapes>) {
        let Some(home) = shapes.home() else { return };
        // Only of the entry that stands there does the engine keep a count.
        let is_there = |slot: &Slot| match slot {
            Slot::Entry(entry) => {
                entry.shapes.as_ref().is_some_and(|held| Arc::ptr_eq(held, shapes))
            }
            Slot::Varies(_) => false,
        };
        let hash = self.hash(home);
        let mut shard = self.index.lock(hash);
        if let Some(slot) = self.engine.peek(hash, home).filter(is_there) {
            shapes.count();
            self.place(&mut shard, hash, Arc::clone(home), slot);
        }
    }

    /// Stores an answer that varies by `names`, whose request had the values that `value` appends.
    pub fn store_variant(
        &self,
        base: &[u8],
        (names, value): (FieldNames, impl Fn(&str, &mut KeyBytes)),
        entry: Arc<Entry>,
    ) -> Verdict {
        let mut key = KeyBytes::from_slice(base);
        extend_by_variant(&mut key, &names, value);
        self.store_varying(&key, Some((base, names)), entry)
    }

    fn store_varying(
        &self,
        key: &[u8],
        varying: Option<(&[u8], FieldNames)>,
        entry: Arc<Entry>,
    ) -> Verdict {
        let purges = self.purges.hold();
        let verdict = purges.verdict(entry.stamp, key, &entry.tags);
        let entry = match verdict {
            Verdict::Good => entry,
            Verdict::Stale => entry.made_stale(Instant::now()),
            Verdict::Gone => return verdict,
        };
        if let Some((base, names)) = varying {
            self.put(base.into(), Slot::Varies(names));
        }
        let key = SharedKey::from(key);
        entry.shapes.iter().for_each(|shapes| shapes.settle(&key));
        self.put(key, Slot::Entry(entry));
        verdict
    }

    /// Forgets what stands under exactly this key, and with it the variants it leads to.
    pub fn remove(&self, bytes: &[u8]) {
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
    pub fn purge(&self, areas: &[Area], soft: bool) -> usize {
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
    fn purge_key(&self, shard: &mut index::Shard, key: &[u8]) -> bool {
        let hash = self.hash(key);
        shard.remove(hash, key);
        matches!(self.engine.remove(hash, key), Some(Slot::Entry(_)))
    }

    /// Makes a fresh entry stale; returns whether there was one.
    fn make_stale(&self, shard: &mut index::Shard, key: SharedKey) -> bool {
        let hash = self.hash(&key);
        let Some(Slot::Entry(entry)) = self.engine.peek(hash, &key) else { return false };
        let now = Instant::now();
        let is_fresh = entry.is_fresh(now);
        if is_fresh {
            self.place(shard, hash, key, Slot::Entry(entry.made_stale(now)));
        }
        is_fresh
    }

    /// Number of slots.
    pub fn entries(&self) -> usize {
        self.engine.len()
    }

    /// Keys in the index.
    #[cfg(test)]
    pub fn indexed(&self) -> usize {
        self.index.shards().map(|shard| shard.lock().len()).sum()
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.engine.weight()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut shards: Vec<_> = self.index.shards().map(parking_lot::Mutex::lock).collect();
        shards.iter_mut().for_each(|shard| shard.clear());
        self.engine.clear();
    }

    /// Puts a slot in its place.
    fn put(&self, key: SharedKey, slot: Slot) {
        let hash = self.hash(&key);
        let mut shard = self.index.lock(hash);
        shard.add(hash, &key, slot.tags());
        let evicted = self.place(&mut shard, hash, key, slot);
        drop(shard);
        drop(evicted);
    }

    /// Has the engine hold a slot whose key is in the index, and takes out of the index what had to
    /// make room.
    fn place(
        &self,
        shard: &mut index::Shard,
        hash: u64,
        key: SharedKey,
        slot: Slot,
    ) -> engine::Evicted<Slot> {
        let weight = weight::of(&key, &slot);
        let evicted = self.engine.insert(hash, key, slot, weight);
        for (hash, key, _) in &evicted {
            shard.remove(*hash, key);
        }
        evicted
    }

    fn get(&self, bytes: &[u8]) -> Option<Slot> {
        self.engine.get(self.hash(bytes), bytes)
    }

    fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }
}

/// Appends the value of a request field as variants are told apart by it (RFC 9111 §4.1): its
/// lines as one list, without the blanks around commas, which mean nothing in a list (RFC 9110
/// §5.6.1); languages in one order and case, codings as one of four classes. What stands within
/// members is kept.
pub fn append_selecting<'v>(name: &str, lines: impl Iterator<Item = &'v [u8]>, key: &mut KeyBytes) {
    if name == "accept-encoding" {
        return key.extend_from_slice(Accepted::read(lines).class().as_bytes());
    }
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        // An empty field is not an absent one.
        key.push(b'=');
    }
    let start = key.len();
    for member in lines.flat_map(|line| line.split(|b| *b == b',')) {
        if key.len() > start {
            key.push(b',');
        }
        key.extend_from_slice(member.trim_ascii());
    }
    if name == "accept-language" {
        sort_members(&mut key[start..]);
    }
}

/// Puts a list of languages in lower case and in order: neither its case nor its order says which
/// language is wanted more (RFC 4647 §2.1, RFC 9110 §12.5.4), only weights do.
fn sort_members(list: &mut [u8]) {
    list.make_ascii_lowercase();
    let copy = KeyBytes::from_slice(list);
    let mut members: SmallVec<[&[u8]; 16]> = copy.split(|b| *b == b',').collect();
    members.sort_unstable();
    let mut at = 0;
    for member in members {
        list[at..at + member.len()].copy_from_slice(member);
        at += member.len() + 1;
        if let Some(comma) = list.get_mut(at - 1) {
            *comma = b',';
        }
    }
}

/// Extends the key of an answer that varies by `names`, whose values `value` appends.
pub fn extend_by_variant(
    key: &mut KeyBytes,
    names: &[Box<str>],
    value: impl Fn(&str, &mut KeyBytes),
) {
    for name in names {
        // No field name or value can hold a line break, so the parts cannot run together.
        key.extend_from_slice(b"\n");
        key.extend_from_slice(name.as_bytes());
        value(name, key);
    }
}
