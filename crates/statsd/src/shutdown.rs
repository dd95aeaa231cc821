//! How a server ends, in two steps: first its receivers, then the threads that wait for a time.
//!
//! Receivers look at a flag and take what still waits in their sockets. Only then does the flushing
//! thread get the signal to end, so that its last flush has everything.

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
