//! A model's turns on the pool: how many of its requests are computed at once, and how many wait.
//!
//! Invariant: of `concurrency` turns at most that many are taken, whatever becomes of a request;
//! requests get their turns in the order in which they came, and each sender gets an answer.
//! Bound: `queue_max` requests wait; the next one is refused with 429.

use std::collections::VecDeque;
use std::sync::Arc;

use exchange::Refusal;
use parking_lot::Mutex;

use crate::queued::{AnswerSender, Pool};
use crate::refusal;

type Answering = Box<dyn FnOnce(Box<dyn AnswerSender>) + Send>;

/// Where an answer goes, and how it is made; one that is never begun is refused, because the
/// process has too much to do.
pub(crate) struct Pending {
    sender: Option<Box<dyn AnswerSender>>,
    answer: Option<Answering>,
}

/// The turns of a model.
pub(crate) struct Turns {
    model: String,
    concurrency: usize,
    queue_max: usize,
    pool: Arc<dyn Pool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    waiting: VecDeque<Pending>,
}

impl Pending {
    pub(crate) fn new(
        sender: Box<dyn AnswerSender>,
        answer: impl FnOnce(Box<dyn AnswerSender>) + Send + 'static,
    ) -> Self {
        Self { sender: Some(sender), answer: Some(Box::new(answer)) }
    }

    /// Makes the answer, unless nobody waits for it any more.
    pub(crate) fn answer(mut self) {
        let sender = self.sender.take().filter(|sender| sender.is_waiting());
        if let (Some(sender), Some(answer)) = (sender, self.answer.take()) {
            answer(sender);
        }
    }

    fn refuse(mut self, refusal: Refusal) {
        if let Some(sender) = self.sender.take() {
            sender.send(Err(refusal));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            sender.send(Err(refusal::overloaded()));
        }
    }
}

impl Turns {
    /// Gives out `concurrency` turns of `pool` at a time, and lets `queue_max` requests wait.
    pub(crate) fn new(
        model: &str,
        (concurrency, queue_max): (usize, usize),
        pool: Arc<dyn Pool>,
    ) -> Arc<Self> {
        let state = Mutex::default();
        Arc::new(Self { model: model.to_owned(), concurrency, queue_max, pool, state })
    }

    /// Has a request answered in its turn.
    pub(crate) fn queue(self: &Arc<Self>, pending: Pending) {
        let mut state = self.state.lock();
        if state.taken == self.concurrency {
            if state.waiting.len() < self.queue_max {
                state.waiting.push_back(pending);
                return;
            }
            drop(state);
            return pending.refuse(refusal::busy(&self.model));
        }
        state.taken += 1;
        drop(state);
        if !self.spawn(pending) {
            self.pass_on();
        }
    }

    /// Hands a request that has a turn to the pool; false when that takes no more.
    fn spawn(self: &Arc<Self>, pending: Pending) -> bool {
        let turns = Arc::clone(self);
        self.pool.spawn(Box::new(move || {
            let _turn = Turn(turns);
            pending.answer();
        }))
    }

    /// Gives a turn that is over to the request that has waited longest.
    fn pass_on(self: &Arc<Self>) {
        loop {
            let mut state = self.state.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.taken -= 1;
                return;
            };
            drop(state);
            if self.spawn(next) {
                return;
            }
        }
    }
}

/// A turn being taken; passed on when it is over, also by a panic.
struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.pass_on();
    }
}

#[cfg(test)]
mod tests;
