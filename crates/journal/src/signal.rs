//! Wakes the writer when lines have come, as rarely as it can.
//!
//! Invariant: the writer's next round sees every line that a lane takes. Either the writer saw it
//! in the lane, or the lane sees that the writer is idle and wakes it. Lines gather for at most 5
//! ms before a round.
//! A lane makes a system call only to wake an idle writer, or for what is urgent: a ticket, a lane
//! above 256 KiB (`lane`). Closing and a failed sync are urgent too.
//! Refuses: locks, and to say what a round does (`writer`). Whether the disk takes the lines is not
//! known here.

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

#[cfg(test)]
mod tests;
