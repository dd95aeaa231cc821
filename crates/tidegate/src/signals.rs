//! Waits for SIGINT and SIGTERM, which end a process in order, and says what SIGHUP does.
//!
//! Invariant: from `install` on, these signals no longer end the process by themselves, not even
//! the second one. A signal that comes before the wait is not lost. `wait_for` looks every 20 ms.
//! SIGHUP comes when a terminal is closed, and from people who want a server to read its files
//! anew. It never ends a server, and it ends what belongs to its terminal (`demo`).
//! Never here: the reload of a statsd server on SIGHUP (`statsd/reload.rs`), and the signals of
//! `lab`, whose commands set flags of their own.

use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// SIGINT or SIGTERM came.
    Signal,
    /// The time ran out.
    TimeOut,
}

/// What SIGHUP does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// Nothing: the process outlives the terminal that it was started from.
    Ignored,
    /// Nothing either, and the log says that no file is read again.
    ReadsNothing,
    /// It ends the process, as SIGTERM does.
    Ends,
}

/// The signals that end the process; installed once.
pub(crate) struct EndSignals {
    signals: Signals,
    hangup: Hangup,
}

impl EndSignals {
    /// Takes SIGINT, SIGTERM and SIGHUP over.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn install(hangup: Hangup) -> Result<Self> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("install signal handlers")?;
        Ok(Self { signals, hangup })
    }

    /// Waits for a signal that ends the process.
    pub(crate) fn wait(&mut self) {
        let hangup = self.hangup;
        self.signals.forever().find(|signal| ends(*signal, hangup));
    }

    /// Looks whether a signal came, then waits for `time` at most.
    pub(crate) fn wait_for(&mut self, time: Duration) -> WaitResult {
        const STEP: Duration = Duration::from_millis(20);
        let mut left = time;
        loop {
            let hangup = self.hangup;
            if self.signals.pending().any(|signal| ends(signal, hangup)) {
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

fn ends(signal: i32, hangup: Hangup) -> bool {
    if signal != SIGHUP {
        return true;
    }
    match hangup {
        Hangup::Ignored => tracing::debug!("SIGHUP does not end this process"),
        Hangup::ReadsNothing => {
            tracing::warn!("SIGHUP reads no file again: restart for a changed configuration");
        }
        Hangup::Ends => return true,
    }
    false
}
