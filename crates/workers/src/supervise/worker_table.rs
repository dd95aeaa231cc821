//! Keeps the workers of a pool that have not ended, by their numbers, and orders their departure.
//!
//! Invariant: numbers rise by one and none is used twice, so the lowest number is the oldest. The
//! gateway keeps connections by these numbers, and sockets are named after them. By the order of
//! `departures` `decide.rs` retires surplus workers, and makes room when memory is short.
//! Refuses: to decide how many there ought to be (`decide.rs`).

use std::collections::BTreeMap;

use super::fleet::Worker;

/// Workers by their numbers.
#[derive(Debug, Default)]
pub(super) struct WorkerTable {
    all: BTreeMap<u64, Worker>,
    last: u64,
}

impl WorkerTable {
    /// Adds a worker; returns its number.
    pub(super) fn add(&mut self, worker: Worker) -> u64 {
        self.last += 1;
        self.all.insert(self.last, worker);
        self.last
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Worker> {
        self.all.remove(&id)
    }

    pub(super) fn get(&self, id: u64) -> Option<&Worker> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Worker> {
        self.all.get_mut(&id)
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &Worker)> {
        self.all.iter().map(|(id, worker)| (*id, worker))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Worker)> {
        self.all.iter_mut().map(|(id, worker)| (*id, worker))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those of a generation, oldest first.
    pub(super) fn of(&self, generation: u64) -> impl Iterator<Item = (u64, &Worker)> {
        self.iter().filter(move |(_, worker)| worker.generation == generation)
    }

    /// Those in service, oldest first.
    pub(super) fn serving(&self) -> impl DoubleEndedIterator<Item = (u64, &Worker)> {
        self.iter().filter(|(_, worker)| worker.is_serving())
    }

    /// A worker that was asked for of a generation, and has not said hello.
    pub(super) fn awaited(&self, generation: u64) -> Option<u64> {
        let mut workers = self.of(generation);
        workers.find(|(_, it)| it.is_starting() && it.contact.is_none()).map(|(id, _)| id)
    }

    /// Those in service, in the order in which they are to go.
    ///
    /// First those of other generations than `current`, then those marked for replacement, each
    /// oldest first; then the others, newest first.
    pub(super) fn departures(&self, current: Option<u64>) -> Vec<u64> {
        let is_old = |worker: &Worker| Some(worker.generation) != current;
        let ids = |found: &dyn Fn(&Worker) -> bool| -> Vec<u64> {
            self.serving().filter(|(_, worker)| found(worker)).map(|(id, _)| id).collect()
        };
        let old = ids(&is_old);
        let marked = ids(&|worker| !is_old(worker) && worker.reason.is_some());
        let others = ids(&|worker| !is_old(worker) && worker.reason.is_none());
        old.into_iter().chain(marked).chain(others.into_iter().rev()).collect()
    }
}
