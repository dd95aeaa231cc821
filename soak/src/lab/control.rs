//! A thread that only sleeps, beside a server: does this machine slow things down by itself?
//!
//! Invariant: it asks for as little as a step of the server, a sleep of a millisecond. So whatever
//! keeps it waiting keeps the server waiting too.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SLEEP: Duration = Duration::from_millis(1);
/// What a step of the server would be slowed down by.
const LATE: Duration = Duration::from_millis(3);
/// Late sleeps in so many are a handful of slow-downs in the calls of an arm.
const QUIET_ONE_IN: u64 = 10_000;

/// Runs until it is asked.
#[derive(Debug)]
pub(super) struct Control {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Lateness>,
}

/// What it saw.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lateness {
    sleeps: u64,
    late: u64,
}

impl Control {
    /// Begins to sleep.
    pub(super) fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut lateness = Lateness::default();
            while !ends.load(Ordering::Relaxed) {
                let begun = Instant::now();
                std::thread::sleep(SLEEP);
                lateness.sleeps += 1;
                lateness.late += u64::from(begun.elapsed() > SLEEP + LATE);
            }
            lateness
        });
        Self { is_over, thread }
    }

    /// Ends, and returns what it saw.
    pub(super) fn end(self) -> Lateness {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

impl Lateness {
    /// Whether the machine let a sleeper run when it was due, nearly always.
    pub(super) fn is_quiet(self) -> bool {
        self.late * QUIET_ONE_IN <= self.sleeps
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sleeps, late } = self;
        write!(out, "of {sleeps} sleeps beside it, {late} ended over {} ms late", LATE.as_millis())
    }
}
