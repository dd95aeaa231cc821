//! Waits for SIGINT and SIGTERM, which end a process in order.
//!
//! Invariant: from `install` on, these signals no longer end the process by themselves, not even
//! the second one. A signal that comes before the wait is not lost. `wait_for` looks every 20 ms.
//! Never here: SIGHUP (`statsd/reload.rs`), and the signals of `lab`, whose commands set flags of
//! their own.

use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// SIGINT or SIGTERM came.
    Signal,
    /// The time ran out.
    TimeOut,
}

/// The signals that end the process; installed once.
pub(crate) struct EndSignals(Signals);

impl EndSignals {
    /// Takes SIGINT and SIGTERM over.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn install() -> Result<Self> {
        Ok(Self(Signals::new([SIGINT, SIGTERM]).context("install signal handlers")?))
    }

    /// Waits for a signal.
    pub(crate) fn wait(&mut self) {
        self.0.forever().next();
    }

    /// Looks whether a signal came, then waits for `time` at most.
    pub(crate) fn wait_for(&mut self, time: Duration) -> WaitResult {
        const STEP: Duration = Duration::from_millis(20);
        let mut left = time;
        loop {
            if self.0.pending().next().is_some() {
                return WaitResult::Signal;
            }
            if left.is_zero() {
                return WaitResult::TimeOut;
            }
            let step = left.min(STEP);
            std::thread::sleep(step);
            left -= step;
        }
    }
}
