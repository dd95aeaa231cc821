//! Keeps values by key within a budget, and evicts by S3-FIFO.
//!
//! The method is from Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache
//! eviction, SOSP 2023. A new value enters the small queue. At the end of that queue, a value that
//! was used twice moves to the main queue. Any other is evicted, and its hash is remembered as a
//! ghost. A value that returns while its ghost is remembered enters the main queue at once. At the
//! end of the main queue, a value that was used goes around again. Two rules are ours: until a
//! shard was full once, a value that finds the small queue full enters the main queue. After 256
//! values in a row were kept for their uses, the next is evicted all the same.
//! Invariants: the weight of all values is at most the budget, which up to 16 shards share evenly.
//! A value heavier than a shard is handed back. A key is in exactly one queue. There are at most as
//! many ghosts as values. The whole key is compared, never only its hash. A use takes a shared lock
//! and allocates nothing. Evicted values go to the caller, so that none is dropped under a lock.
//! [`bytes_each`] must follow a change of nodes or tables. The hit ratios in
//! docs/decisions/cache.md belong to these rules. Never here: what a value weighs (`weight`).

mod ghosts;

use std::sync::atomic::{AtomicU8, Ordering};

use hashbrown::HashTable;
use parking_lot::RwLock;
use smallvec::SmallVec;

use crate::key::SharedKey;

use ghosts::{Ghosts, table_bytes};

/// Share of the budget for the small queue, in percent.
const SMALL_PERCENT: u64 = 10;
/// Uses after which a value moves from the small queue to the main queue.
const PROOF: u8 = 2;
/// Uses that are counted; more make no difference.
const USES_MAX: u8 = 3;
/// Values in a row that may go around again; the next is evicted even if it was used. This bounds
/// the time under the lock when many values were used since the last eviction.
const SPARED_MAX: usize = 256;
/// Shards; more would rarely be locked at the same time.
const SHARDS_MAX: u64 = 16;
/// The list of nodes grows by one part in this many, which wastes less memory than doubling.
const GROWTH: usize = 8;
/// No node.
const NONE: u32 = u32::MAX;

/// Evicted values, each with its key and the hash of the key.
pub(crate) type Evicted<V> = SmallVec<[(u64, SharedKey, V); 2]>;

/// Values by key.
#[derive(Debug)]
pub(crate) struct S3Fifo<V> {
    shards: Box<[RwLock<FifoShard<V>>]>,
}

#[derive(Debug)]
struct FifoShard<V> {
    places: HashTable<u32>,
    nodes: Vec<FifoNode<V>>,
    free: Vec<u32>,
    queues: [Fifo; 2],
    ghosts: Ghosts,
    weight_max: u64,
    /// Whether any value was evicted for lack of room so far.
    was_full: bool,
}

#[derive(Debug)]
struct FifoNode<V> {
    hash: u64,
    /// None while the node is free.
    content: Option<(SharedKey, V)>,
    weight: u64,
    /// Towards the end of the queue, where values are evicted.
    next: u32,
    previous: u32,
    uses: AtomicU8,
    place: FifoKind,
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FifoKind {
    /// The queue of new values.
    Small,
    /// The queue of values that were used.
    Main,
}

#[derive(Debug, Clone, Copy)]
struct Fifo {
    first: u32,
    last: u32,
    weight: u64,
    len: usize,
}

/// Returns the shard of a hash; the number of shards is a power of two.
pub(crate) fn shard_of(hash: u64, shards: usize) -> usize {
    // The hash tables use the lowest and the highest bits.
    (hash >> 32) as usize & (shards - 1)
}

/// Returns the bytes that the engine spends on a value, beyond those of its key and its content.
///
/// These are a node and a place in the table, each with its average share of unused memory, and a
/// ghost.
pub(crate) const fn bytes_each<V>() -> usize {
    let node = size_of::<FifoNode<V>>();
    node + node / (2 * GROWTH) + table_bytes(size_of::<u32>()) + ghosts::BYTES_EACH
}

impl<V: Clone> S3Fifo<V> {
    /// Returns an empty engine with room for `weight_max`, in shards of at least `shard_min`. It
    /// never keeps a value that is heavier than a shard.
    pub(crate) fn new(weight_max: u64, shard_min: u64) -> Self {
        let shards = 1 << (weight_max / shard_min.max(1)).clamp(1, SHARDS_MAX).ilog2();
        let shard = || RwLock::new(FifoShard::new(weight_max / shards));
        Self { shards: (0..shards).map(|_| shard()).collect() }
    }

    /// Finds a value, and counts this as a use.
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<V> {
        let shard = self.shard(hash).read();
        let node = &shard.nodes[shard.find(hash, key)? as usize];
        let uses = node.uses.load(Ordering::Relaxed);
        if uses < USES_MAX {
            // If two uses happen at once, one may be lost.
            node.uses.store(uses + 1, Ordering::Relaxed);
        }
        node.content.as_ref().map(|(_, value)| value.clone())
    }

    /// Finds a value, and does not count this as a use.
    pub(crate) fn peek(&self, hash: u64, key: &[u8]) -> Option<V> {
        let shard = self.shard(hash).read();
        let node = &shard.nodes[shard.find(hash, key)? as usize];
        node.content.as_ref().map(|(_, value)| value.clone())
    }

    /// Inserts a value, or replaces the value of the same key; returns what it evicted, and what it
    /// replaced. A value heavier than a shard is returned itself, and the one it would replace is
    /// removed.
    pub(crate) fn insert(
        &self,
        hash: u64,
        key: SharedKey,
        value: V,
        weight: u64,
    ) -> (Evicted<V>, Option<V>) {
        let mut evicted = Evicted::new();
        let mut shard = self.shard(hash).write();
        let found = shard.find(hash, &key);
        let of_node = |(_, value): (SharedKey, V)| value;
        if weight > shard.weight_max {
            let replaced = found.and_then(|at| shard.take(at)).map(of_node);
            evicted.push((hash, key, value));
            return (evicted, replaced);
        }
        if let Some(at) = found {
            shard.reweigh(at, weight);
            let replaced = shard.nodes[at as usize].content.replace((key, value)).map(of_node);
            shard.evict_for(0, &mut evicted);
            return (evicted, replaced);
        }
        shard.evict_for(weight, &mut evicted);
        let place = shard.place_of_new(hash);
        shard.add(hash, (key, value), weight, place);
        (evicted, None)
    }

    /// Removes a value.
    pub(crate) fn remove(&self, hash: u64, key: &[u8]) -> Option<V> {
        let mut shard = self.shard(hash).write();
        let at = shard.find(hash, key)?;
        shard.take(at).map(|(_, value)| value)
    }

    /// Removes every value and ghost.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write();
            let empty = FifoShard::new(shard.weight_max);
            let all = std::mem::replace(&mut *shard, empty);
            drop(shard);
            drop(all);
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Returns the weight of all values.
    pub(crate) fn weight(&self) -> u64 {
        self.shards.iter().map(|shard| shard.read().weight()).sum()
    }

    /// Returns the number of shards, a power of two; [`shard_of`] says which one holds a key.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    fn shard(&self, hash: u64) -> &RwLock<FifoShard<V>> {
        &self.shards[shard_of(hash, self.shards.len())]
    }
}

impl<V> FifoShard<V> {
    fn new(weight_max: u64) -> Self {
        let empty = Fifo { first: NONE, last: NONE, weight: 0, len: 0 };
        Self {
            places: HashTable::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            queues: [empty; 2],
            ghosts: Ghosts::default(),
            weight_max,
            was_full: false,
        }
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn weight(&self) -> u64 {
        self.queues[0].weight + self.queues[1].weight
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        let is_it = |at: &u32| {
            let node = &self.nodes[*at as usize];
            node.hash == hash && node.content.as_ref().is_some_and(|(stored, _)| **stored == *key)
        };
        self.places.find(hash, is_it).copied()
    }

    /// Evicts until a further `weight` fits.
    fn evict_for(&mut self, weight: u64, evicted: &mut Evicted<V>) {
        let mut spared = 0;
        while self.weight() + weight > self.weight_max && self.len() > 0 {
            self.was_full = true;
            let place = self.next_to_judge();
            let at = self.queues[place as usize].last;
            if spared < SPARED_MAX && self.spare(at) {
                spared += 1;
                continue;
            }
            spared = 0;
            let hash = self.nodes[at as usize].hash;
            if place == FifoKind::Small {
                self.ghosts.remember(hash);
            }
            evicted.extend(self.take(at).map(|(key, value)| (hash, key, value)));
        }
    }

    /// Returns the queue whose last value is judged next; it is not empty.
    fn next_to_judge(&self) -> FifoKind {
        let [small, main] = &self.queues;
        match small.len > 0 && (self.is_small_full() || main.len == 0) {
            true => FifoKind::Small,
            false => FifoKind::Main,
        }
    }

    /// Returns the queue for a value whose key is not stored.
    fn place_of_new(&mut self, hash: u64) -> FifoKind {
        let is_back = self.ghosts.forget(hash);
        match is_back || (!self.was_full && self.is_small_full()) {
            true => FifoKind::Main,
            false => FifoKind::Small,
        }
    }

    fn is_small_full(&self) -> bool {
        self.queues[FifoKind::Small as usize].weight * 100 >= self.weight_max * SMALL_PERCENT
    }

    /// Moves a value that was used enough to the front of the main queue; returns whether it did.
    fn spare(&mut self, at: u32) -> bool {
        let node = &mut self.nodes[at as usize];
        let uses = node.uses.get_mut();
        match node.place {
            FifoKind::Small if *uses >= PROOF => *uses = 0,
            FifoKind::Main if *uses > 0 => *uses -= 1,
            FifoKind::Small | FifoKind::Main => return false,
        }
        self.unlink(at);
        self.link(at, FifoKind::Main);
        true
    }

    fn add(&mut self, hash: u64, content: (SharedKey, V), weight: u64, place: FifoKind) {
        let uses = AtomicU8::new(0);
        let (next, previous) = (NONE, NONE);
        let node = FifoNode { hash, content: Some(content), weight, next, previous, uses, place };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                if self.nodes.len() == self.nodes.capacity() {
                    self.nodes.reserve_exact(self.nodes.len() / GROWTH + 16);
                }
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        let nodes = &self.nodes;
        self.places.insert_unique(hash, at, |at| nodes[*at as usize].hash);
        self.link(at, place);
    }

    fn take(&mut self, at: u32) -> Option<(SharedKey, V)> {
        self.unlink(at);
        let node = &mut self.nodes[at as usize];
        if let Ok(found) = self.places.find_entry(node.hash, |other| *other == at) {
            found.remove();
        }
        self.ghosts.trim(self.places.len());
        self.free.push(at);
        node.content.take()
    }

    fn reweigh(&mut self, at: u32, weight: u64) {
        let node = &mut self.nodes[at as usize];
        let queue = &mut self.queues[node.place as usize];
        queue.weight = queue.weight - node.weight + weight;
        node.weight = weight;
    }

    fn link(&mut self, at: u32, place: FifoKind) {
        let queue = &mut self.queues[place as usize];
        let first = std::mem::replace(&mut queue.first, at);
        let node = &mut self.nodes[at as usize];
        (node.place, node.next, node.previous) = (place, first, NONE);
        queue.weight += node.weight;
        queue.len += 1;
        match first {
            NONE => queue.last = at,
            first => self.nodes[first as usize].previous = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let FifoNode { weight, next, previous, place, .. } = self.nodes[at as usize];
        let queue = &mut self.queues[place as usize];
        queue.weight -= weight;
        queue.len -= 1;
        match previous {
            NONE => queue.first = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => queue.last = previous,
            next => self.nodes[next as usize].previous = previous,
        }
    }
}

#[cfg(test)]
mod tests;
