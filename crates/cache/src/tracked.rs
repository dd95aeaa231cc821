//! Tracks how long the body of a response is in use after the store has dropped it.
//!
//! A reply holds the bytes, not the entry, so it is the bytes that carry the charge. Invariant: the
//! charge ends when the entry and all replies have dropped the body. Bodies shorter than
//! `TRACKED_BYTES_MIN` are not tracked: they would cost an allocation each, and connections charge
//! what they hold of them. Never here: when an entry leaves the store (`memory`).

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use chassis::Charge;

/// Bytes of the shortest body that is tracked.
const TRACKED_BYTES_MIN: usize = 64 * 1024;

/// A body, and the charge for it once the store does not hold it any more.
#[derive(Debug)]
pub struct TrackedBody {
    bytes: Bytes,
    charge: OnceLock<Charge>,
}

impl TrackedBody {
    /// Keeps the charge as long as the body is in use; a second one ends at once.
    pub(crate) fn charge(&self, charge: Charge) {
        let _ = self.charge.set(charge);
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
    let tracked = Arc::new(TrackedBody { bytes, charge: OnceLock::new() });
    (Bytes::from_owner(Owner(Arc::clone(&tracked))), Some(tracked))
}
