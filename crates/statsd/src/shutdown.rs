//! Tells the threads of a server to end, in two steps: first receivers, then those that wait for a
//! time.
//!
//! Receivers look at a flag. Whoever waits for a time does so in `ends_within`, which returns at
//! once when all is to end.
//! Invariant: neither step is taken back. `server.rs` keeps their order: it joins the receivers in
//! between, so that the last flush has everything. The flag wakes nobody, so `server.rs` also wakes
//! the thread of streams.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Whether a server is to end.
#[derive(Debug, Default)]
pub(crate) struct Shutdown {
    /// Set when receivers are to end.
    pub receivers: AtomicBool,
    has_ended: Mutex<bool>,
    changed: Condvar,
}

impl Shutdown {
    /// Lets receivers end.
    pub(crate) fn end_receivers(&self) {
        self.receivers.store(true, Ordering::Release);
    }

    /// Lets everything else end, and wakes it.
    pub(crate) fn end_all(&self) {
        *self.has_ended.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for so long; true when everything is to end meanwhile.
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut has_ended = self.has_ended.lock();
        while !*has_ended && Instant::now() < deadline {
            self.changed.wait_until(&mut has_ended, deadline);
        }
        *has_ended
    }
}

#[cfg(test)]
mod tests;
