//! Counts what one worker in service has: its loans, how each ended, and when it last answered.
//!
//! A loan ends when the worker is free of its request, not when nobody waits for the answer any
//! more. So an abandoned request counts until the worker says `free`, and one on a broken
//! connection until the worker answers a ping. With `concurrency` above 1 an abandoned request
//! counts until its deadline at most.
//! A worker that answers quickly has room for requests ahead (`slot/quickness.rs`).
//! Each change returns what the supervisor must hear, as a [`PoolCommand`]. `describe` writes the
//! words `busy` and `free` of the status, with which others compare (`status.rs`).
//! Invariant: `abandoned` and `suspect` are parts of `loans`. The fields are open: `pool.rs` closes
//! a worker and gives back a loan that nobody took, and `supervise/execute.rs` notes answers and
//! the canary.
//! Never here: locks (`pool.rs`), the choice between workers (`pool/lending.rs`), deadlines
//! (`supervise/deadlines.rs`).

mod quickness;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::command::PoolCommand;
use crate::status::WorkerStatus;
pub(crate) use quickness::Quickness;

/// How long before a loan ends its worker may have said that it is free of it.
const EARLY_MAX: Duration = Duration::from_secs(1);

/// How a loan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoanEnd {
    /// The answer was read to its end.
    Done,
    /// The worker has not begun it.
    GivenBack,
    /// Nobody waits for the answer any more.
    Abandoned,
    /// The request took longer than requests may.
    TimedOut,
    /// The connection could not be made, or broke.
    Lost,
}

/// A worker in service.
#[derive(Debug)]
pub(crate) struct WorkerSlot {
    /// The worker's number.
    pub id: u64,
    /// Where it listens.
    pub socket: Arc<Path>,
    /// Loans at once.
    pub concurrency: usize,
    /// Requests that it has.
    pub loans: usize,
    /// How many more it would answer soon; none where it begins all that it gets.
    pub quickness: Option<Quickness>,
    /// Of these: nobody waits for the answer.
    pub abandoned: usize,
    /// Whether one of these took too long.
    has_timed_out: bool,
    /// Of these: the connection broke.
    pub suspect: usize,
    /// How many requests the worker has ended before the pool knew that they are abandoned, and
    /// when it said so last. The worker sees a closed connection, whatever closed it.
    freed_early: (usize, Instant),
    /// Requests that were answered.
    pub requests: u64,
    /// Requests after which it is replaced.
    pub requests_max: Option<u64>,
    /// Whether it has still to say that the canary's connection has ended.
    pub owes_canary: bool,
    /// Whether it may be lent.
    pub is_open: bool,
    /// The number of its last loan.
    pub used: u64,
    /// When it answered anything: a request, the canary, a ping.
    pub answered: Instant,
}

impl WorkerSlot {
    /// A worker that has just answered.
    pub(crate) fn new(
        id: u64,
        socket: Arc<Path>,
        concurrency: usize,
        requests_max: Option<u64>,
    ) -> Self {
        Self {
            id,
            socket,
            concurrency,
            loans: 0,
            quickness: None,
            abandoned: 0,
            has_timed_out: false,
            suspect: 0,
            freed_early: (0, Instant::now()),
            requests: 0,
            requests_max,
            owes_canary: false,
            is_open: true,
            used: 0,
            answered: Instant::now(),
        }
    }

    /// Adds what a pool knows of a worker in service to its status.
    pub(crate) fn describe(&self, status: &mut WorkerStatus) {
        status.requests = self.requests;
        status.in_flight = self.loans;
        status.answered_s_ago = Some(self.answered.elapsed().as_secs_f64());
        if self.is_open {
            status.state = if self.loans > 0 { "busy" } else { "free" };
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.is_open && self.loans < self.concurrency
    }

    /// Whether one more request is answered soon, though the worker has as many as it takes at
    /// once.
    pub(crate) fn has_room_ahead(&self, now: Instant) -> bool {
        let is_sound = self.is_open && self.abandoned + self.suspect == 0;
        is_sound && self.quickness.as_ref().is_some_and(|it| self.loans < it.requests_ahead(now))
    }

    pub(crate) fn lend(&mut self, number: u64, now: Instant) {
        if self.loans == 0 {
            self.freed_early.0 = 0;
            self.quickness.iter_mut().for_each(|it| it.begin(now));
        }
        self.loans += 1;
        self.used = number;
    }

    /// Ends a loan; returns what the supervisor must know. An abandoned request has to be over by
    /// `deadline`.
    pub(crate) fn settle(&mut self, end: LoanEnd, deadline: Instant) -> [Option<PoolCommand>; 2] {
        match end {
            LoanEnd::Done => {
                self.loans -= 1;
                self.requests += 1;
                self.answered = Instant::now();
                self.quickness.iter_mut().for_each(|it| it.end(self.answered));
                let worn = (self.requests_max == Some(self.requests))
                    .then_some(PoolCommand::Worn(self.id));
                [worn, self.idle().or_else(|| self.hangs())]
            }
            LoanEnd::GivenBack => {
                self.quickness = self.quickness.take().map(|_| Quickness::default());
                [self.give_back(), None]
            }
            LoanEnd::Abandoned if self.was_freed_early() => {
                self.freed_early.0 -= 1;
                self.loans -= 1;
                [self.idle(), None]
            }
            LoanEnd::Abandoned => {
                self.abandoned += 1;
                [Some(PoolCommand::Abandoned { worker: self.id, deadline }), None]
            }
            LoanEnd::Lost => {
                self.suspect += 1;
                [Some(PoolCommand::Suspect(self.id)), None]
            }
            LoanEnd::TimedOut => {
                self.is_open = false;
                self.abandoned += 1;
                self.has_timed_out = true;
                [Some(PoolCommand::TimedOut(self.id)), None]
            }
        }
    }

    /// A loan ends whose request was never begun.
    pub(crate) fn give_back(&mut self) -> Option<PoolCommand> {
        self.loans -= 1;
        self.idle()
    }

    /// The worker says that an abandoned request has ended, or the canary's connection.
    pub(crate) fn free(&mut self) -> Option<PoolCommand> {
        if std::mem::take(&mut self.owes_canary) {
            return None;
        }
        if self.abandoned == 0 {
            self.freed_early = ((self.freed_early.0 + 1).min(self.loans), Instant::now());
            return None;
        }
        self.abandoned -= 1;
        self.loans -= 1;
        self.idle()
    }

    fn was_freed_early(&self) -> bool {
        self.freed_early.0 > 0 && self.freed_early.1.elapsed() < EARLY_MAX
    }

    /// Counts as over what nobody waits for.
    pub(crate) fn forget_abandoned(&mut self) -> Option<PoolCommand> {
        self.loans -= std::mem::take(&mut self.abandoned);
        self.idle()
    }

    /// The worker lives: what it had on broken connections is over.
    pub(crate) fn clear(&mut self) -> Option<PoolCommand> {
        self.answered = Instant::now();
        if self.suspect == 0 {
            return None;
        }
        self.loans -= std::mem::take(&mut self.suspect);
        self.idle()
    }

    /// Tells the supervisor once a worker has nothing left but what took too long.
    fn hangs(&self) -> Option<PoolCommand> {
        let is_all = self.has_timed_out && self.loans == self.abandoned;
        is_all.then_some(PoolCommand::TimedOut(self.id))
    }

    /// Tells the supervisor that a worker that is lent no more has nothing left to do.
    pub(crate) fn idle(&self) -> Option<PoolCommand> {
        (!self.is_open && self.loans == 0).then_some(PoolCommand::Idle(self.id))
    }
}

#[cfg(test)]
mod tests;
