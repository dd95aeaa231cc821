//! Wakes the sealer for a round, when `writer` has created a segment or every 60 s, and tells it to
//! stop.
//!
//! Invariant: a ring during a round makes one more round; several make one together. After `close`
//! there is no further round, and `sealer` breaks a compression off (`is_closing`).
//! Deletion by age comes late by up to these 60 s. Refuses: to say what a round does (`sealer`).

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How often the age of segments is looked at.
const ROUND_INTERVAL: Duration = Duration::from_secs(60);

/// Wakes the sealer.
#[derive(Default)]
pub(crate) struct Bell {
    state: Mutex<BellState>,
    changed: Condvar,
}

#[derive(Default)]
struct BellState {
    round: bool,
    closing: bool,
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.state.lock().round = true;
        self.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_one();
    }

    /// Whether the journal closes.
    pub(crate) fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    /// Waits for a round; returns whether there is to be one.
    pub(crate) fn wait(&self) -> bool {
        let mut state = self.state.lock();
        if !state.round && !state.closing {
            self.changed.wait_for(&mut state, ROUND_INTERVAL);
        }
        state.round = false;
        !state.closing
    }
}
