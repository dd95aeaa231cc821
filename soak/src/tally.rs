//! What happened, counted by kind, and the first examples of what must not happen.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const EXAMPLES_MAX: usize = 20;

/// Counts that every thread adds to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    inner: Mutex<Counts>,
}

/// The counts of a run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counts {
    /// Faults made, origin's and clients', by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests sent, by kind.
    pub requests: BTreeMap<&'static str, u64>,
    /// What became of them.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Answers from the cache, as the gateway says.
    pub hits: u64,
    /// Answers that the model does not allow.
    pub wrong: u64,
    /// The first of them, described.
    pub examples: Vec<String>,
}

impl Tally {
    /// Counts a fault that was made.
    pub(crate) fn fault(&self, kind: &'static str) {
        *self.counts().faults.entry(kind).or_default() += 1;
    }

    /// Counts a request and what became of it.
    pub(crate) fn request(&self, kind: &'static str, outcome: &'static str, hit: bool) {
        let mut counts = self.counts();
        *counts.requests.entry(kind).or_default() += 1;
        *counts.outcomes.entry(outcome).or_default() += 1;
        counts.hits += u64::from(hit);
    }

    /// Counts an answer that the model does not allow.
    pub(crate) fn wrong(&self, what: String) {
        let mut counts = self.counts();
        counts.wrong += 1;
        if counts.examples.len() < EXAMPLES_MAX {
            counts.examples.push(what);
        }
    }

    /// The counts so far.
    pub(crate) fn so_far(&self) -> Counts {
        self.counts().clone()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Prints them by kind.
    pub(crate) fn print(&self) {
        let all =
            [("requests", &self.requests), ("outcomes", &self.outcomes), ("faults", &self.faults)];
        for (name, kinds) in all {
            println!("{name}: {}", total(kinds));
            for (kind, count) in kinds {
                println!("    {count:>9}  {kind}");
            }
        }
    }

    /// How many requests had an outcome.
    pub(crate) fn with(&self, outcome: &str) -> u64 {
        self.outcomes.get(outcome).copied().unwrap_or(0)
    }
}

/// The sum of all kinds.
pub(crate) fn total(kinds: &BTreeMap<&'static str, u64>) -> u64 {
    kinds.values().sum()
}
