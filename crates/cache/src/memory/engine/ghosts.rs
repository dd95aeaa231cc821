//! Hashes of what left the small queue: who comes back while remembered has proved itself.
//!
//! Invariant: the oldest is forgotten first. One that was forgotten by name keeps its place in the
//! order until its turn comes.

use std::collections::VecDeque;

use hashbrown::HashTable;

/// Bytes that a hash costs, with what lies idle.
pub(super) const BYTES_EACH: usize = table_bytes(size_of::<u32>()) + size_of::<u64>() * 3 / 2;

/// The memory.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    /// The hashes in their turns.
    order: VecDeque<u64>,
    /// The turns by hash, but for those that were forgotten by name.
    turns: HashTable<u32>,
    /// The turn of the first in the order; turns begin anew behind the last number.
    first: u32,
}

impl Ghosts {
    /// Remembers a hash.
    pub(super) fn remember(&mut self, hash: u64) {
        let turn = self.first.wrapping_add(self.order.len() as u32);
        self.order.push_back(hash);
        let (order, first) = (&self.order, self.first);
        let hash_of = |turn: &u32| order[turn.wrapping_sub(first) as usize];
        self.turns.insert_unique(hash, turn, hash_of);
    }

    /// Forgets a hash; returns whether it was remembered.
    pub(super) fn forget(&mut self, hash: u64) -> bool {
        let is_it = |turn: &u32| self.order[turn.wrapping_sub(self.first) as usize] == hash;
        let found = self.turns.find_entry(hash, is_it);
        found.map(|found| found.remove()).is_ok()
    }

    /// Forgets the oldest until no more than `max` are in the order.
    pub(super) fn trim(&mut self, max: usize) {
        while self.order.len() > max
            && let Some(hash) = self.order.pop_front()
        {
            if let Ok(found) = self.turns.find_entry(hash, |turn| *turn == self.first) {
                found.remove();
            }
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Hashes in the order.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}

/// Bytes of a place in a hash table, which is 7/16 to 7/8 full: by the worse half.
pub(super) const fn table_bytes(content: usize) -> usize {
    (content + 1) * 2
}
