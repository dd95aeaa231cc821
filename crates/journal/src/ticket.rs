//! Makes tickets: the promise that one line becomes durable, with an end to await or wait for and
//! an end to settle.
//!
//! Invariant: a promise is settled once; later answers are ignored. `durable`, `writer` and `lane`
//! settle every one that they hold, at the latest when the journal closes. The answer is the offset
//! of the line's end, or why that is not certain.
//! Only the last waker of a ticket is woken. Refuses: time-outs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::error::Unrecorded;

/// Completes when its line is durable, with the offset of the line's end, or when it is known
/// that nobody can tell.
#[derive(Debug)]
#[must_use = "the line is durable only once the ticket says so"]
pub struct Ticket(Arc<Promise>);

impl Ticket {
    /// Blocks until the ticket is settled; not for threads that run futures.
    ///
    /// # Errors
    /// As awaiting the ticket.
    pub fn wait(self) -> Result<u64, Unrecorded> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(answer) = state.answer {
                return answer;
            }
            self.0.settled.wait(&mut state);
        }
    }
}

impl Future for Ticket {
    type Output = Result<u64, Unrecorded>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock();
        if let Some(answer) = state.answer {
            return Poll::Ready(answer);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// The side that settles.
#[derive(Debug, Default)]
pub(crate) struct Promise {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    answer: Option<Result<u64, Unrecorded>>,
    waker: Option<Waker>,
}

impl Promise {
    pub(crate) fn with_ticket() -> (Arc<Self>, Ticket) {
        let promise = Arc::new(Self::default());
        (promise.clone(), Ticket(promise))
    }

    pub(crate) fn settle(&self, answer: Result<u64, Unrecorded>) {
        let mut state = self.state.lock();
        if state.answer.is_some() {
            return;
        }
        state.answer = Some(answer);
        let waker = state.waker.take();
        self.settled.notify_all();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
