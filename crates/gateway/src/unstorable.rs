//! Remembers keys whose responses could not be stored, so that requests do not wait for each other.
//!
//! Without this, every group of requests for such a key would wait for one fetch that gives the
//! others nothing (hit-for-miss in Varnish). Invariant: a key is remembered for at most the time
//! given; the callers forget it when a response is storable (`fetch`). With it goes why: see
//! `freshness::Unstored`. Bound: 65,536 keys in 512 KiB; a key replaces another at the same place.
//! Two keys at one place may be confused, once in some ten million. That costs a fetch of its own,
//! and never gives a wrong response. Never here: flights (`flight`), when to remember (`fetch`).

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use crate::freshness::Unstored;

/// Keys that can be remembered; 8 bytes each.
const PLACES: usize = 1 << 16;
/// Bits of a place for the deadline, in milliseconds from the start. They last for 2 years.
const DEADLINE_BITS: u32 = 36;
const DEADLINE_MASK: u64 = (1 << DEADLINE_BITS) - 1;
/// Bits of a place for the reason, above those.
const REASON_BITS: u32 = 4;
const MARK_MASK: u64 = !((1 << (DEADLINE_BITS + REASON_BITS)) - 1);

/// The remembered keys.
#[derive(Debug)]
pub(crate) struct Unstorable {
    /// The deadline in the low bits, then the reason, then the high bits of the key's hash; 0 is no
    /// key.
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
    /// Remembers a key, and why, for this time.
    pub(crate) fn remember(&self, key: impl Hash, reason: Unstored, now: Instant, time: Duration) {
        let (place, mark) = self.place(key);
        let deadline = now.saturating_duration_since(self.start) + time;
        let deadline = (deadline.as_millis() as u64).min(DEADLINE_MASK);
        let reason = (reason as u64) << DEADLINE_BITS;
        place.store(mark | reason | deadline, Ordering::Relaxed);
    }

    /// Whether a key is remembered.
    pub(crate) fn holds(&self, key: impl Hash, now: Instant) -> bool {
        self.reason(key, now).is_some()
    }

    /// Why the response of a key was not stored, if the key is remembered.
    pub(crate) fn reason(&self, key: impl Hash, now: Instant) -> Option<Unstored> {
        let (place, mark) = self.place(key);
        let found = place.load(Ordering::Relaxed);
        let elapsed = now.saturating_duration_since(self.start).as_millis() as u64;
        let reason = (found & !MARK_MASK) >> DEADLINE_BITS;
        let is_remembered = found & MARK_MASK == mark && elapsed < found & DEADLINE_MASK;
        Unstored::ALL.get(reason as usize).copied().filter(|_| is_remembered)
    }

    /// Forgets a key, because its response was storable.
    pub(crate) fn forget(&self, key: impl Hash) {
        let (place, mark) = self.place(key);
        if place.load(Ordering::Relaxed) & MARK_MASK == mark {
            place.store(0, Ordering::Relaxed);
        }
    }

    fn place(&self, key: impl Hash) -> (&AtomicU64, u64) {
        let hash = self.hasher.hash_one(key);
        (&self.places[hash as usize % PLACES], hash & MARK_MASK)
    }
}

#[cfg(test)]
mod tests;
