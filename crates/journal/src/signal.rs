//! Wakes the writer, as rarely as it can.
//!
//! Invariant: a line that a lane takes is written within one round of the writer. Either the writer
//! saw the line, or the lane sees that the writer is idle. Refuses: locks and system calls on a
//! lane's way in, but for waking an idle writer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long lines may gather before they are written.
const GATHER_TIME: Duration = Duration::from_millis(5);

/// Wakes one thread.
#[derive(Default)]
pub(crate) struct Signal {
    writer: OnceLock<Thread>,
    /// The writer sleeps until a line comes.
    idle: AtomicBool,
    /// Something must not wait for the writer's next round.
    urgent: AtomicBool,
}

impl Signal {
    /// Names the calling thread as the writer.
    pub(crate) fn set_writer(&self) {
        self.writer.get_or_init(thread::current);
    }

    /// Notes that a lane took a line. The lane's mutex orders this after the writer's look into the
    /// lanes.
    #[inline]
    pub(crate) fn appended(&self, urgent: bool) {
        if urgent {
            self.wake();
        } else if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// Makes the writer come round at once.
    pub(crate) fn wake(&self) {
        if !self.urgent.swap(true, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// Waits for the next round: while `is_idle` at most `idle_max`, then until lines have
    /// gathered.
    pub(crate) fn wait(&self, is_idle: impl Fn() -> bool, idle_max: Duration) {
        if !self.urgent.load(Ordering::Acquire) {
            self.idle.store(true, Ordering::Release);
            if is_idle() {
                thread::park_timeout(idle_max);
            }
            self.idle.store(false, Ordering::Release);
        }
        if !self.urgent.load(Ordering::Acquire) {
            thread::park_timeout(GATHER_TIME.min(idle_max));
        }
        self.urgent.store(false, Ordering::Release);
    }

    fn unpark(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}
