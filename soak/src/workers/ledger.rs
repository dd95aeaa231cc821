//! Faults with their times, each of which excuses so many failed requests and no more.
//!
//! The model: a request to a healthy handler succeeds, whatever other requests do and however
//! workers are replaced. Each fault excuses one request whose worker it hit:
//! - the worker was killed from outside, and the request must not be repeated (POST);
//! - the worker was killed, and the answer had begun, so the client sees it broken off;
//! - the request went to two workers, and each of them was killed (two faults);
//! - the worker was stopped from outside for as long as requests may take.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From a signal to the end of what it hit, as clients see it.
const NEAR: Duration = Duration::from_millis(1_500);

/// What hits workers from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, for good.
    Stop,
}

/// All faults so far.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    pool: usize,
    fault: Fault,
    from: Instant,
    /// None while it lasts.
    end: Option<Instant>,
    is_spent: bool,
}

impl Ledger {
    /// Notes a fault that is about to be made.
    pub(super) fn begin(&self, pool: usize, fault: Fault) {
        let from = Instant::now();
        let end = (fault == Fault::Kill).then_some(from);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What no request can be hit by any more is forgotten.
        entries.retain(|it| it.end.is_none_or(|at| at.elapsed() < Duration::from_secs(60)));
        entries.push(Entry { pool, fault, from, end, is_spent: false });
    }

    /// The stopped workers of a pool are gone.
    pub(super) fn end_stops(&self, pool: usize) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = entries.iter_mut().filter(|it| it.pool == pool && it.end.is_none());
        open.for_each(|it| it.end = Some(Instant::now()));
    }

    /// Takes `count` faults that a request from `begun` until now may have been hit by.
    pub(super) fn excuse(&self, pool: usize, fault: Fault, begun: Instant, count: usize) -> bool {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |it: &&mut Entry| {
            let lasts = it.end.is_none_or(|end| end + NEAR >= begun);
            it.pool == pool && it.fault == fault && !it.is_spent && lasts && it.from >= begun - LONG
        };
        let found: Vec<&mut Entry> = entries.iter_mut().filter(fits).take(count).collect();
        let is_enough = found.len() == count;
        if is_enough {
            found.into_iter().for_each(|it| it.is_spent = true);
        }
        is_enough
    }
}

/// A stopped worker is gone after this.
const LONG: Duration = Duration::from_secs(40);
