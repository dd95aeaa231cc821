//! Remembers which keys came before, so that a full disk stores a response only when its key comes
//! again.
//!
//! So a crawler that asks for everything once displaces nothing. The method is the doorkeeper of
//! TinyLFU (Einziger, Friedman, Manes, ACM ToS 2017).
//! Invariant: a key that came is known until at least 524,288 other keys came after it. Bound: two
//! Bloom filters of half a megabyte take turns, so that old keys are forgotten. A new key is
//! mistaken for a known one at most about one time in ten.
//! Nothing is kept over a restart. Never here: whether the disk is full (`state`).

use twox_hash::XxHash3_128;

const BITS: usize = 1 << 22;
/// Keys in a filter before the other one takes over. About one new key in twenty is then mistaken
/// for one that came before.
const KEYS_MAX: usize = 1 << 19;

/// The keys that came before.
#[derive(Debug, Default)]
pub(super) struct Doorkeeper {
    young: Vec<u64>,
    old: Vec<u64>,
    keys: usize,
}

impl Doorkeeper {
    /// Notes a key; returns true if it came before.
    pub(super) fn knows(&mut self, key: &[u8]) -> bool {
        if self.young.is_empty() || self.keys >= KEYS_MAX {
            self.old = std::mem::replace(&mut self.young, vec![0; BITS / 64]);
            self.keys = 0;
        }
        let [first, second] = places(key);
        let has = |filter: &[u64], place: usize| {
            filter.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
        };
        let is_young = has(&self.young, first) && has(&self.young, second);
        let is_old = has(&self.old, first) && has(&self.old, second);
        if !is_young {
            self.young[first / 64] |= 1 << (first % 64);
            self.young[second / 64] |= 1 << (second % 64);
            self.keys += 1;
        }
        is_young || is_old
    }
}

fn places(key: &[u8]) -> [usize; 2] {
    let hash = XxHash3_128::oneshot(key);
    [hash, hash >> 64].map(|half| half as u64 as usize % BITS)
}

#[cfg(test)]
mod tests;
