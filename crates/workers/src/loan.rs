//! A worker in someone's hands, and how it comes back.
//!
//! Invariant: a loan comes back exactly once, whatever happens to its holder; one that is dropped
//! without a word counts as abandoned, for the worker may still be at it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::pool::Pool;

/// A worker for one request. Dropped without a word, when nobody wants the answer any more and the
/// connection is closed, it is lent again when it says that it is free, and killed when its request
/// takes longer than requests may.
#[derive(Debug)]
#[must_use = "dropping it abandons the request"]
pub struct Loan {
    pool: Arc<Pool>,
    id: u64,
    socket: Arc<Path>,
    taken: Instant,
    outcome: Outcome,
}

/// How a loan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Abandoned,
    TimedOut,
    Lost,
}

impl Loan {
    /// The worker's number: grows in the order in which workers start, never comes twice in the
    /// life of a pool.
    pub fn worker(&self) -> u64 {
        self.id
    }

    /// The Unix socket on which it listens; no other worker of this pool ever gets the same path.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The answer was read to its end: the worker is free.
    pub fn done(mut self) {
        self.outcome = Outcome::Done;
    }

    /// The request took longer than it may: the worker is killed.
    pub fn timed_out(mut self) {
        self.outcome = Outcome::TimedOut;
    }

    /// The connection could not be made, or broke: the worker is lent again when it shows that it
    /// lives.
    pub fn lost(mut self) {
        self.outcome = Outcome::Lost;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.pool.settle(self.id, self.outcome, self.taken);
    }
}

/// A worker on its way to who waits for it; dropping it gives it back unused.
#[derive(Debug)]
pub(crate) struct Offer {
    /// None once it is accepted.
    pool: Option<Arc<Pool>>,
    id: u64,
    socket: Arc<Path>,
    taken: Instant,
}

impl Offer {
    pub(crate) fn new(pool: &Arc<Pool>, (id, socket): (u64, Arc<Path>), taken: Instant) -> Self {
        Self { pool: Some(Arc::clone(pool)), id, socket, taken }
    }

    pub(crate) fn accept(mut self) -> Loan {
        let pool = self.pool.take().expect("an offer is accepted once");
        let socket = Arc::clone(&self.socket);
        Loan { pool, id: self.id, socket, taken: self.taken, outcome: Outcome::Abandoned }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.give_back(self.id);
        }
    }
}
