//! Remembers ghosts: hashes of the values that were evicted from the small queue.
//!
//! Invariant: the oldest ghost is forgotten first. A ghost that [`Ghosts::forget`] took out keeps
//! its place in the order until its turn comes. A hash is remembered once, as long as the caller
//! forgets it before its value is stored again.
//! Bound: none here; the caller trims the order. `memory/weight.rs` charges [`BYTES_EACH`] to every
//! value, so it must follow a change of these tables. Never here: values and keys.

use std::collections::VecDeque;

use hashbrown::HashTable;

/// Bytes that a ghost costs, with its share of unused memory.
pub(super) const BYTES_EACH: usize = table_bytes(size_of::<u32>()) + size_of::<u64>() * 3 / 2;

/// The remembered hashes.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    /// The hashes, oldest first.
    order: VecDeque<u64>,
    /// The turn of each hash that [`Self::forget`] has not taken out.
    turns: HashTable<u32>,
    /// The turn of the first hash in the order; the numbers wrap around.
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

    /// Forgets the oldest until the order holds at most `max`.
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

    /// Returns the number of hashes in the order.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }
}

/// Returns the bytes of a place in a hash table. The table is between 7/16 and 7/8 full, and this
/// assumes the worse half of that.
pub(super) const fn table_bytes(content: usize) -> usize {
    (content + 1) * 2
}

#[cfg(test)]
mod tests;
