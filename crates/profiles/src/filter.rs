//! Keeps a file's keys in memory, as hashes that say without SQLite whether a user has a profile.
//!
//! Hashes of 64 bits stand in an open table with linear probing (Knuth, TAOCP 3, 6.4), two thirds
//! full: 12 bytes for each profile. So a look-up among millions usually waits for memory once. The
//! table asks for huge pages, without which the look-up would first wait for a page table.
//! Invariant: a user with a profile is always found. One without is taken for one with a
//! probability of n in 2^64, where n is the number of profiles. The hash is seeded at random for
//! each file, so that such an id is hard to prepare; it is not cryptographic. No hash is written to
//! disk, so another hash function needs no change elsewhere.
//! `into_filter` returns None for 2^32 keys and more, and when the system gives no memory.
//! Refuses: a binary fuse filter and sorted hashes. docs/decisions/profiles.md has what the three
//! ways cost; measure again after a change (row `no-profile` of docs/BENCHMARKS.md).

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use memmap2::MmapMut;

/// Marks a free slot; a hash of this value is kept as its neighbour.
const FREE: u64 = 0;

// Invariant: at least a third of the slots is free, so that every probe ends.
pub(crate) struct KeyFilter {
    state: RandomState,
    slots: Slots,
}

/// The keys of a file in the making.
pub(crate) struct KeyHashes {
    state: RandomState,
    hashes: Vec<u64>,
}

impl KeyHashes {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { state: RandomState::default(), hashes: Vec::with_capacity(count) }
    }

    pub(crate) fn push(&mut self, key: &[u8]) {
        self.hashes.push(hash(&self.state, key));
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns the keys ready for look-ups; none if there are 2^32 or more, or no memory.
    pub(crate) fn into_filter(mut self) -> Option<KeyFilter> {
        u32::try_from(self.hashes.len()).ok()?;
        // In the order of their places, so that filling the table walks through memory once.
        self.hashes.sort_unstable();
        let mut slots = Slots::free(self.hashes.len() / 2 * 3 + 4)?;
        for hash in self.hashes {
            let slot = slots.probe(hash);
            slots.set(slot, hash);
        }
        Some(KeyFilter { state: self.state, slots })
    }
}

impl KeyFilter {
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        let hash = hash(&self.state, key);
        self.slots.get(self.slots.probe(hash)) == hash
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes.len()
    }
}

fn hash(state: &RandomState, key: &[u8]) -> u64 {
    state.hash_one(key).max(FREE + 1)
}

/// Numbers in anonymous memory.
struct Slots {
    bytes: MmapMut,
    len: usize,
}

impl Slots {
    fn free(len: usize) -> Option<Self> {
        // Anonymous memory is zero, which is `FREE`.
        let bytes = MmapMut::map_anon(len * size_of::<u64>()).ok()?;
        // Without huge pages it is slower, and nothing else.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Some(Self { bytes, len })
    }

    fn get(&self, slot: usize) -> u64 {
        let at = slot * size_of::<u64>();
        let bytes = self.bytes[at..].first_chunk().expect("a slot lies within the table");
        u64::from_ne_bytes(*bytes)
    }

    fn set(&mut self, slot: usize, hash: u64) {
        let at = slot * size_of::<u64>();
        self.bytes[at..at + size_of::<u64>()].copy_from_slice(&hash.to_ne_bytes());
    }

    /// Returns the slot that holds `hash`, or the free one where it would be.
    fn probe(&self, hash: u64) -> usize {
        // The hash scaled to the table: its leading bits decide (Lemire 2016, "fast range").
        let mut slot = ((u128::from(hash) * self.len as u128) >> 64) as usize;
        loop {
            let stored = self.get(slot);
            if stored == hash || stored == FREE {
                return slot;
            }
            slot += 1;
            if slot == self.len {
                slot = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
