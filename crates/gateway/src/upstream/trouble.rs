//! Holds what requests have met at a server: is it reached, does it answer?
//!
//! Invariants: a server that takes no connection is in trouble at once, until it takes one. So is
//! one at which `failures` requests in a row have failed, until one is answered. A server in
//! trouble is out while it takes no connection, or for `pause` after each failure. Without trouble
//! a request costs three atomic loads. Never here: who notes what (`passive`), probes (`health`).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::plan::PassivePlan;

/// Least time between two lines of the log that say that one server is in trouble.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// What requests have met at a server.
#[derive(Debug)]
pub struct Trouble {
    /// The time from which `pause_end` counts.
    base: Instant,
    /// Whether somebody has asked if it is reached, without a request.
    was_tried: AtomicBool,
    /// Whether a connection is being tried, without a request.
    is_tried: AtomicBool,
    /// Whether a request was answered since the last look.
    was_answered: AtomicBool,
    /// Whether the last connection could not be made.
    is_unreachable: AtomicBool,
    /// Requests in a row that have failed.
    failures: AtomicU32,
    /// Milliseconds to the time when requests that have a choice come here again.
    pause_end: AtomicU64,
    state: Mutex<State>,
}

/// What people are told of it.
#[derive(Debug, Default)]
struct State {
    /// Since when it is in trouble.
    since: Option<Instant>,
    /// What was met last.
    reason: String,
    /// When the log told of trouble last.
    logged: Option<Instant>,
    /// Whether it has told of this trouble, so that it tells of the end, too.
    is_logged: bool,
}

/// A connection that is being tried, until it is dropped.
#[derive(Debug)]
pub(super) struct Knocking<'t>(&'t AtomicBool);

impl Drop for Knocking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Trouble {
    pub(super) fn none() -> Self {
        Self {
            base: Instant::now(),
            was_tried: AtomicBool::new(false),
            is_tried: AtomicBool::new(false),
            was_answered: AtomicBool::new(false),
            is_unreachable: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            pause_end: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Whether this is asked for the first time.
    pub(super) fn is_new(&self) -> bool {
        !self.was_tried.swap(true, Ordering::Relaxed)
    }

    /// Begins to try a connection, unless that is under way.
    pub(super) fn begin_trial(&self) -> Option<Knocking<'_>> {
        (!self.is_tried.swap(true, Ordering::Relaxed)).then_some(Knocking(&self.is_tried))
    }

    /// Notes that a request was answered.
    pub(super) fn note_answer(&self) {
        if !self.was_answered.load(Ordering::Relaxed) {
            self.was_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request was answered since this was asked last.
    pub(crate) fn take_answered(&self) -> bool {
        self.was_answered.swap(false, Ordering::Relaxed)
    }

    /// Whether it takes no connection.
    pub fn is_unreachable(&self) -> bool {
        self.is_unreachable.load(Ordering::Relaxed)
    }

    /// Whether another server is asked, if there is one.
    pub fn is_out(&self) -> bool {
        if self.is_unreachable() {
            return true;
        }
        let end = self.pause_end.load(Ordering::Relaxed);
        end > 0 && self.millis() < end
    }

    /// Returns what is wrong, and for how long, if anything is.
    pub fn text(&self) -> Option<String> {
        let state = self.state.lock();
        let seconds = state.since?.elapsed().as_secs();
        Some(format!("{}, for {seconds} s", state.reason))
    }

    /// Notes whether a connection was made; returns true if that has changed.
    pub(super) fn set_unreachable(&self, is_unreachable: bool) -> bool {
        self.is_unreachable.swap(is_unreachable, Ordering::Relaxed) != is_unreachable
    }

    /// Counts a failed request; returns the number in a row if it is trouble.
    pub(super) fn count_failure(&self, plan: &PassivePlan) -> Option<u32> {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.is_failing(plan) {
            return None;
        }
        let pause = u64::try_from(plan.pause.as_millis()).unwrap_or(u64::MAX);
        self.pause_end.store(self.millis().saturating_add(pause), Ordering::Relaxed);
        Some(failures)
    }

    /// Begins the count anew after an answer; returns false if there was none.
    pub(super) fn end_count(&self) -> bool {
        if self.failures.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.failures.store(0, Ordering::Relaxed);
        self.pause_end.store(0, Ordering::Relaxed);
        true
    }

    /// Whether so many requests in a row have failed that it is trouble.
    pub(super) fn is_failing(&self, plan: &PassivePlan) -> bool {
        plan.failures > 0 && self.failures.load(Ordering::Relaxed) >= plan.failures
    }

    /// Notes the reason; returns whether the log is to tell of it.
    pub(super) fn begin(&self, reason: String) -> bool {
        let mut state = self.state.lock();
        state.reason = reason;
        if state.since.is_some() {
            return false;
        }
        let now = Instant::now();
        state.since = Some(now);
        state.is_logged = state.logged.is_none_or(|logged| now >= logged + LOG_INTERVAL);
        if state.is_logged {
            state.logged = Some(now);
        }
        state.is_logged
    }

    /// Notes the end; returns how long it took if the log is to tell of it.
    pub(super) fn end(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        let since = state.since.take()?;
        state.is_logged.then(|| since.elapsed())
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
