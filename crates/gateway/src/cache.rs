//! Stored answers by key, within a byte budget, with admission that resists scans.
//!
//! Invariants: an entry is complete and immutable; the full key is compared, never its hash alone,
//! so no two requests can be taken for each other. A key whose answer varies leads to a slot that
//! names the request fields, and the answer stands under the key extended by their values.
//! Engine: `quick_cache` (CLOCK-PRO), chosen in docs/DECISIONS.md.

use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chassis::http::Head;
use foldhash::fast::RandomState;
use quick_cache::sync::{Cache as Engine, EntryAction};
use quick_cache::{Equivalent, Lifecycle, OptionsBuilder, Weighter};
use smallvec::SmallVec;

use crate::accept::Accepted;
use crate::compress::shapes::Shapes;
use crate::index::{Index, Search, SharedKey};
use crate::key::Rules;
use crate::purge::{Area, Purges, Verdict};
use crate::tags::{TAG_BYTES, Tags};

/// Bytes of bookkeeping an entry costs beyond its key, head and body, its place in the index
/// included.
const OVERHEAD_BYTES: u64 = 320;
/// Keys that a purge looks after before it lets others at their shard.
const PURGED_AT_ONCE: usize = 64;
/// Size of an entry assumed when the engine is laid out: how many evicted keys it remembers.
const USUAL_BYTES: u64 = 2048;
/// Share of the memory for entries that proved themselves; measured (docs/DECISIONS.md).
const HOT: f64 = 0.90;
/// Evicted keys remembered, as a share of the entries.
const GHOSTS: f64 = 1.0;

/// Time for which a stale entry is not fetched anew after that failed.
const HOLD_OFF: Duration = Duration::from_secs(1);

/// Names of request fields, in lower case, sorted.
pub type FieldNames = Arc<[Box<str>]>;

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

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    hash: u64,
    /// Shared with the index.
    bytes: SharedKey,
}

struct KeyRef<'k> {
    hash: u64,
    bytes: &'k [u8],
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.hash == key.hash && *self.bytes == *key.bytes
    }
}

/// Passes the keyed hash of the key's bytes through.
#[derive(Debug, Clone, Copy, Default)]
struct Passing;

impl BuildHasher for Passing {
    type Hasher = Passed;
    fn build_hasher(&self) -> Passed {
        Passed(0)
    }
}

struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Debug, Clone, Copy)]
struct ByBytes;

impl Weighter<Key, Slot> for ByBytes {
    fn weight(&self, key: &Key, slot: &Slot) -> u64 {
        let held = match slot {
            Slot::Entry(entry) => {
                let encoded = entry.shapes.as_ref().map_or(0, |shapes| shapes.counted());
                entry.fields.len() + entry.body.len() + encoded as usize
            }
            Slot::Varies(names) => names.iter().map(|name| name.len() + 16).sum(),
        };
        (key.bytes.len() + held) as u64 + OVERHEAD_BYTES + slot.tags().len() as u64 * TAG_BYTES
    }
}

/// Collects what the engine evicts: it is looked after when the engine's lock is free.
#[derive(Debug, Clone, Copy)]
struct Evicting;

impl Lifecycle<Key, Slot> for Evicting {
    type RequestState = SmallVec<[(Key, Slot); 2]>;

    fn on_evict(&self, evicted: &mut Self::RequestState, key: Key, slot: Slot) {
        evicted.push((key, slot));
    }
}

/// Stored answers.
#[derive(Debug)]
pub struct Cache {
    engine: Engine<Key, Slot, ByBytes, Passing, Evicting>,
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
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity((bytes_max / USUAL_BYTES).clamp(64, 1 << 22) as usize)
            .weight_capacity(bytes_max)
            .hot_allocation(HOT)
            .ghost_allocation(GHOSTS)
            .build()
            .expect("both capacities are given");
        Self {
            engine: Engine::with_options(options, ByBytes, Passing, Evicting),
            hasher: RandomState::default(),
            index: Index::default(),
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

    /// Stores an answer that does not vary, whose fetch began at `stamp`; a purge since then makes
    /// it stale, or forbids it.
    pub fn store(&self, key: &[u8], entry: Arc<Entry>, stamp: u64) -> Verdict {
        self.store_varying(key, None, entry, stamp)
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
        let key = Key { hash: self.hash(home), bytes: home.into() };
        if !self.engine.peek(&key).is_some_and(|slot| is_there(&slot)) {
            return;
        }
        self.engine.entry(&key, Some(Duration::ZERO), |_, slot| {
            if is_there(slot) {
                shapes.count();
            }
            EntryAction::Retain(())
        });
        if self.engine.weight() > self.engine.capacity() {
            // The engine makes room only for what comes in: something does, in the same shard, and
            // goes again. No request's key begins like this.
            let passing = Key { hash: key.hash, bytes: [b"\n", home].concat().into() };
            let mut evicted = SmallVec::new();
            let nothing = Slot::Varies([].into());
            self.engine.insert_with_lifecycle(passing.clone(), nothing, &mut evicted);
            self.engine.remove(&passing);
            self.forget(evicted);
        }
    }

    /// Stores an answer that varies by `names`, whose request had the values that `value` appends.
    pub fn store_variant(
        &self,
        base: &[u8],
        (names, value): (FieldNames, impl Fn(&str, &mut KeyBytes)),
        entry: Arc<Entry>,
        stamp: u64,
    ) -> Verdict {
        let mut key = KeyBytes::from_slice(base);
        extend_by_variant(&mut key, &names, value);
        self.store_varying(&key, Some((base, names)), entry, stamp)
    }

    fn store_varying(
        &self,
        key: &[u8],
        varying: Option<(&[u8], FieldNames)>,
        entry: Arc<Entry>,
        stamp: u64,
    ) -> Verdict {
        let purges = self.purges.hold();
        let verdict = purges.verdict(stamp, key, &entry.tags);
        let entry = match verdict {
            Verdict::Good => entry,
            Verdict::Stale => entry.made_stale(Instant::now()),
            Verdict::Gone => return verdict,
        };
        if let Some((base, names)) = varying {
            self.put(base, Slot::Varies(names));
        }
        entry.shapes.iter().for_each(|shapes| shapes.settle(key));
        self.put(key, Slot::Entry(entry));
        verdict
    }

    /// Forgets what stands under exactly this key, and with it the variants it leads to.
    pub fn remove(&self, bytes: &[u8]) {
        let key = KeyRef { hash: self.hash(bytes), bytes };
        let mut shard = self.index.lock(key.hash);
        self.engine.remove(&key);
        shard.remove(key.hash, bytes);
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
                for bytes in found {
                    let key = Key { hash: self.hash(&bytes), bytes };
                    if soft {
                        entries += usize::from(self.make_stale(key));
                    } else {
                        shard.remove(key.hash, &key.bytes);
                        let was_there = self.engine.remove(&key);
                        entries += usize::from(matches!(was_there, Some((_, Slot::Entry(_)))));
                    }
                }
            }
        }
        entries
    }

    /// Makes a fresh entry stale, whose shard of the index the caller has locked; returns whether
    /// there was one.
    fn make_stale(&self, key: Key) -> bool {
        let Some(Slot::Entry(entry)) = self.engine.peek(&key) else { return false };
        let now = Instant::now();
        if !entry.is_fresh(now) {
            return false;
        }
        let stale = Slot::Entry(entry.made_stale(now));
        // Refused when it was evicted meanwhile.
        self.engine.replace(key, stale, true).is_ok()
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

    /// Puts a slot in its place, and looks after what had to make room.
    fn put(&self, bytes: &[u8], slot: Slot) {
        let key = Key { hash: self.hash(bytes), bytes: bytes.into() };
        let mut evicted = SmallVec::new();
        let mut shard = self.index.lock(key.hash);
        shard.add(key.hash, &key.bytes, slot.tags());
        self.engine.insert_with_lifecycle(key, slot, &mut evicted);
        drop(shard);
        self.forget(evicted);
    }

    /// Looks after what had to make room.
    fn forget(&self, evicted: SmallVec<[(Key, Slot); 2]>) {
        for (key, _) in evicted {
            let mut shard = self.index.lock(key.hash);
            // Another one may have taken its place meanwhile.
            if !self.engine.contains_key(&key) {
                shard.remove(key.hash, &key.bytes);
            }
        }
    }

    fn get(&self, bytes: &[u8]) -> Option<Slot> {
        self.engine.get(&KeyRef { hash: self.hash(bytes), bytes })
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
