//! Tracks how long the body of a response is in use after the store has dropped it.
//!
//! A reply holds the bytes, not the entry, so it is the bytes that carry the charge. Invariant:
//! they are charged as long as they are in use and no entry in memory has them. Entries may share a
//! body: one that was made stale has that of its predecessor. Bodies shorter than
//! `TRACKED_BYTES_MIN` are not tracked: they would cost an allocation each, and connections charge
//! what they copy of them. Encodings of a body are not tracked either. Never here: when an entry
//! enters or leaves the store (`memory`).

use std::sync::Arc;

use bytes::Bytes;
use chassis::{Charge, Inflight};
use parking_lot::Mutex;

/// Bytes of the shortest body that is tracked.
const TRACKED_BYTES_MIN: usize = 64 * 1024;

/// A body, and the charge for it while the store does not hold it.
#[derive(Debug)]
pub struct TrackedBody {
    bytes: Bytes,
    state: Mutex<Stored>,
}

/// Who holds a body.
#[derive(Debug, Default)]
struct Stored {
    /// Entries in memory that have it.
    entries: usize,
    charge: Option<Charge>,
}

impl TrackedBody {
    /// Notes that one more entry in memory has it; then the store accounts for it.
    pub(crate) fn enter(&self) {
        let mut state = self.state.lock();
        state.entries += 1;
        state.charge = None;
    }

    /// Notes that an entry has left memory; after the last one it is charged.
    pub(crate) fn leave(&self, budget: &Arc<Inflight>) {
        let mut state = self.state.lock();
        state.entries -= 1;
        if state.entries == 0 {
            let mut charge = Charge::new(budget);
            charge.add(self.bytes.len());
            state.charge = Some(charge);
        }
    }

    /// Keeps a charge for it, unless an entry in memory has it.
    pub(crate) fn charge(&self, charge: Charge) {
        let mut state = self.state.lock();
        if state.entries == 0 {
            state.charge = Some(charge);
        }
    }
}

/// Returns the same body as bytes that are tracked, if it is long.
pub(crate) fn track(bytes: Bytes) -> (Bytes, Option<Arc<TrackedBody>>) {
    if bytes.len() < TRACKED_BYTES_MIN {
        return (bytes, None);
    }
    struct Owner(Arc<TrackedBody>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0.bytes
        }
    }
    let tracked = Arc::new(TrackedBody { bytes, state: Mutex::default() });
    (Bytes::from_owner(Owner(Arc::clone(&tracked))), Some(tracked))
}

#[cfg(test)]
mod tests;
