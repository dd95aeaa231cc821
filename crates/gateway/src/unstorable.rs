//! Keys whose answers turned out not to be storable: requests for them do not wait for each other.
//!
//! Without this memory every round of requests for such a key waits for one fetch, to learn that it
//! brought nothing for the others (hit-for-miss, as Varnish calls it). Invariants: a key is
//! remembered for its route's time at most, and until an answer is storable; memory is fixed, and a
//! key that falls on another's place takes it. Two keys may be taken for each other once in some
//! hundred million, which costs a shared fetch, never an answer.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

/// Keys remembered at most; 8 bytes each.
const PLACES: usize = 1 << 16;
/// Bits of a place that hold the deadline, milliseconds from the start: 2 years.
const DEADLINE_BITS: u32 = 36;
const DEADLINE_MASK: u64 = (1 << DEADLINE_BITS) - 1;

/// The memory.
#[derive(Debug)]
pub(crate) struct Unstorable {
    /// Deadline in the low bits, above it the end of the key's hash; 0 is nothing.
    places: Box<[AtomicU64]>,
    hasher: RandomState,
    start: Instant,
}

impl Default for Unstorable {
    fn default() -> Self {
        let places = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { places, hasher: RandomState::default(), start: Instant::now() }
    }
}

impl Unstorable {
    /// Remembers a key for some time.
    pub(crate) fn remember(&self, key: impl Hash, now: Instant, time: Duration) {
        let (place, mark) = self.place(key);
        let deadline = now.saturating_duration_since(self.start) + time;
        let deadline = (deadline.as_millis() as u64).min(DEADLINE_MASK);
        place.store(mark | deadline, Ordering::Relaxed);
    }

    /// Whether a key is remembered.
    pub(crate) fn holds(&self, key: impl Hash, now: Instant) -> bool {
        let (place, mark) = self.place(key);
        let found = place.load(Ordering::Relaxed);
        let elapsed = now.saturating_duration_since(self.start).as_millis() as u64;
        found & !DEADLINE_MASK == mark && elapsed < found & DEADLINE_MASK
    }

    /// Forgets a key: its answer was storable.
    pub(crate) fn forget(&self, key: impl Hash) {
        let (place, mark) = self.place(key);
        if place.load(Ordering::Relaxed) & !DEADLINE_MASK == mark {
            place.store(0, Ordering::Relaxed);
        }
    }

    fn place(&self, key: impl Hash) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash_one(key);
        (&self.places[hash as usize % PLACES], hash & !DEADLINE_MASK)
    }
}

#[cfg(test)]
mod tests;
