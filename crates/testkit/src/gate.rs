//! A gate that keeps threads waiting until a test opens it: the opposite of a sleep.
//!
//! Invariant: a thread passes only after the gate was opened, for all or once for it. Refuses: to
//! be closed again.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::FIXTURE_TIMEOUT;

/// Closed when made; clones are the same gate.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    /// How many may pass although the gate is closed.
    passes: usize,
    waiting: usize,
}

impl Gate {
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Lets everyone through, from this moment on.
    pub fn open(&self) {
        self.change(|state| state.open = true);
    }

    /// Lets one through: who waits, or who comes next.
    pub fn open_once(&self) {
        self.change(|state| state.passes += 1);
    }

    /// Waits until `count` threads stand at the gate; panics after [`FIXTURE_TIMEOUT`].
    pub fn wait_for(&self, count: usize) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.waiting < count {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} of {count} came to the gate", state.waiting);
            let woken = self.0.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits at the gate; returns false when `given_up` turned true before it was opened.
    pub(crate) fn pass(&self, given_up: impl Fn() -> bool) -> bool {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        self.0.changed.notify_all();
        while !state.open && state.passes == 0 && !given_up() {
            let woken = self.0.changed.wait_timeout(state, Duration::from_millis(20));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        let passed = state.open || state.passes > 0;
        state.passes = state.passes.saturating_sub(usize::from(!state.open));
        state.waiting -= 1;
        passed
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.changed.notify_all();
    }
}
