//! Hashes of what left the small queue: who comes back while remembered has proved itself.
//!
//! Invariant: a hash is remembered once, from its last leaving on; the oldest is forgotten first.
//! One that was forgotten by name keeps its place in the order until its turn comes.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::table_bytes;

/// Bytes that a hash costs, with what lies idle on average.
pub const BYTES_EACH: usize = table_bytes(size_of::<(u64, u64)>()) + size_of::<u64>() * 3 / 2;

/// The memory.
#[derive(Debug, Default)]
pub struct Ghosts {
    /// The turn at which each left, by hash.
    left: HashMap<u64, u64, BuildHasherDefault<Passed>>,
    /// The hashes in their turns.
    order: VecDeque<u64>,
    /// The turn of the first in the order.
    first: u64,
}

/// Passes a hash through.
#[derive(Debug, Clone, Copy, Default)]
struct Passed(u64);

impl Ghosts {
    /// Remembers a hash.
    pub fn remember(&mut self, hash: u64) {
        self.left.insert(hash, self.first + self.order.len() as u64);
        self.order.push_back(hash);
    }

    /// Forgets a hash; returns whether it was remembered.
    pub fn forget(&mut self, hash: u64) -> bool {
        self.left.remove(&hash).is_some()
    }

    /// Forgets the oldest until no more than `max` are in the order.
    pub fn trim(&mut self, max: usize) {
        while self.order.len() > max
            && let Some(hash) = self.order.pop_front()
        {
            if self.left.get(&hash) == Some(&self.first) {
                self.left.remove(&hash);
            }
            self.first += 1;
        }
    }

    /// Hashes in the order.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.order.len()
    }
}

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
