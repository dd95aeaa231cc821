//! Limits how many requests of a model that predicts run at once on the pool, and how many wait.
//!
//! Invariant: at most `concurrency` requests run on the pool, also after a panic of one. Requests
//! that wait are taken in the order in which they came. A request that is never begun is answered:
//! 429 where the queue is full, 503 where the pool is. One whose client has left is dropped
//! unanswered.
//! Bound: `queue_max` requests wait; the next one is refused with 429. Requests answered on the
//! calling thread are not counted.
//! [`PendingAnswer`] also carries requests without a limit, as jobs of the pool (`router.rs`). It
//! relies on a pool that drops the jobs it does not take.
//! Elsewhere: limits of models of texts (`texts/queue.rs`); rankings have none.

use std::collections::VecDeque;
use std::sync::Arc;

use exchange::Refusal;
use parking_lot::Mutex;

use crate::queued::{AnswerSender, JobGroup, JobPool};
use crate::refusal;

type MakeAnswer = Box<dyn FnOnce(Box<dyn AnswerSender>) + Send>;

/// An answer that is not begun, and where it goes. One that never is begun is refused, because the
/// process has too much to do.
pub(crate) struct PendingAnswer {
    sender: Option<Box<dyn AnswerSender>>,
    make: Option<MakeAnswer>,
    /// Whether making it may take more than a few milliseconds.
    pub(crate) is_long: bool,
}

/// What a model may take of the pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Requests that run at once.
    pub(crate) concurrency: usize,
    /// Requests that wait.
    pub(crate) queue_max: usize,
}

/// The limit of a model.
pub(crate) struct ConcurrencyLimit {
    model: String,
    limits: Limits,
    pool: Arc<dyn JobPool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    waiting: VecDeque<PendingAnswer>,
}

impl PendingAnswer {
    pub(crate) fn new(
        sender: Box<dyn AnswerSender>,
        make: impl FnOnce(Box<dyn AnswerSender>) + Send + 'static,
    ) -> Self {
        Self { sender: Some(sender), make: Some(Box::new(make)), is_long: false }
    }

    /// Makes the answer, unless nobody waits for it any more.
    pub(crate) fn make(mut self) {
        let sender = self.sender.take().filter(|sender| sender.is_waiting());
        if let (Some(sender), Some(make)) = (sender, self.make.take()) {
            make(sender);
        }
    }

    fn refuse(mut self, refusal: Refusal) {
        if let Some(sender) = self.sender.take() {
            sender.send(Err(refusal));
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            sender.send(Err(refusal::overloaded()));
        }
    }
}

impl ConcurrencyLimit {
    /// Lets so many requests of a model run on `pool`.
    pub(crate) fn new(model: &str, limits: Limits, pool: Arc<dyn JobPool>) -> Arc<Self> {
        Arc::new(Self { model: model.to_owned(), limits, pool, state: Mutex::default() })
    }

    /// Has a request answered as soon as it may run.
    pub(crate) fn queue(self: &Arc<Self>, pending: PendingAnswer) {
        let mut state = self.state.lock();
        if state.running == self.limits.concurrency {
            if state.waiting.len() < self.limits.queue_max {
                state.waiting.push_back(pending);
                return;
            }
            drop(state);
            return pending.refuse(refusal::busy(&self.model));
        }
        state.running += 1;
        drop(state);
        if !self.spawn(pending) {
            self.start_next();
        }
    }

    /// Hands a request that counts as running to the pool; false when that takes no more.
    fn spawn(self: &Arc<Self>, pending: PendingAnswer) -> bool {
        let limit = Arc::clone(self);
        let group = JobGroup { model: &self.model, is_long: pending.is_long };
        let job = move || {
            let _running = RunningRequest(limit);
            pending.make();
        };
        self.pool.spawn(group, Box::new(job))
    }

    /// Starts the request that has waited longest in place of one that is over.
    fn start_next(self: &Arc<Self>) {
        loop {
            let mut state = self.state.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.running -= 1;
                return;
            };
            drop(state);
            if self.spawn(next) {
                return;
            }
        }
    }
}

/// A request that runs; another follows when it is over, also by a panic.
struct RunningRequest(Arc<ConcurrencyLimit>);

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.start_next();
    }
}

#[cfg(test)]
mod tests;
