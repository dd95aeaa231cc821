//! A worker in service, as the pool counts it.
//!
//! Invariant: `loans` counts requests that the worker has, whether someone still waits for the
//! answer or not; a loan is over when the worker is free of it, not when nobody wants it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::loan::Outcome;
use crate::pool::Command;

/// A worker in service.
#[derive(Debug)]
pub(crate) struct Seat {
    /// The worker's number.
    pub id: u64,
    /// Where it listens.
    pub socket: Arc<Path>,
    /// Loans at once.
    pub concurrency: usize,
    /// Requests that it has.
    pub loans: usize,
    /// Of these: nobody waits for the answer.
    pub abandoned: usize,
    /// Of these: the connection broke.
    pub suspect: usize,
    /// Ends of abandoned requests that were told before the abandonment was.
    freed_early: usize,
    /// Requests that were answered.
    pub requests: u64,
    /// Requests after which it is replaced.
    pub requests_max: Option<u64>,
    /// Whether it may be lent.
    pub is_open: bool,
    /// The number of its last loan.
    pub used: u64,
    /// When it answered anything: a request, the canary, a ping.
    pub answered: Instant,
}

impl Seat {
    /// A worker that has just answered.
    pub fn new(id: u64, socket: Arc<Path>, concurrency: usize, requests_max: Option<u64>) -> Self {
        Self {
            id,
            socket,
            concurrency,
            loans: 0,
            abandoned: 0,
            suspect: 0,
            freed_early: 0,
            requests: 0,
            requests_max,
            is_open: true,
            used: 0,
            answered: Instant::now(),
        }
    }

    pub fn has_room(&self) -> bool {
        self.is_open && self.loans < self.concurrency
    }

    pub fn lend(&mut self, number: u64) {
        if self.loans == 0 {
            self.freed_early = 0;
        }
        self.loans += 1;
        self.used = number;
    }

    /// Ends a loan; returns what the supervisor is to know.
    pub fn settle(&mut self, outcome: Outcome, until: Instant) -> [Option<Command>; 2] {
        match outcome {
            Outcome::Done => {
                self.loans -= 1;
                self.requests += 1;
                self.answered = Instant::now();
                let worn =
                    (self.requests_max == Some(self.requests)).then_some(Command::Worn(self.id));
                [worn, self.idle()]
            }
            Outcome::Abandoned if self.freed_early > 0 => {
                self.freed_early -= 1;
                self.loans -= 1;
                [self.idle(), None]
            }
            Outcome::Abandoned => {
                self.abandoned += 1;
                [Some(Command::Abandoned(self.id, until)), None]
            }
            Outcome::Lost => {
                self.suspect += 1;
                [Some(Command::Suspect(self.id)), None]
            }
            Outcome::TimedOut => {
                self.is_open = false;
                [Some(Command::TimedOut(self.id)), None]
            }
        }
    }

    /// The worker says that an abandoned request has ended.
    pub fn free(&mut self) -> Option<Command> {
        if self.abandoned == 0 {
            self.freed_early = (self.freed_early + 1).min(self.loans);
            return None;
        }
        self.abandoned -= 1;
        self.loans -= 1;
        self.idle()
    }

    /// What nobody waits for is taken to be over.
    pub fn forget_abandoned(&mut self) -> Option<Command> {
        self.loans -= std::mem::take(&mut self.abandoned);
        self.idle()
    }

    /// The worker lives: what it had on broken connections is over.
    pub fn clear(&mut self) -> Option<Command> {
        self.answered = Instant::now();
        if self.suspect == 0 {
            return None;
        }
        self.loans -= std::mem::take(&mut self.suspect);
        self.idle()
    }

    fn idle(&self) -> Option<Command> {
        (!self.is_open && self.loans == 0).then_some(Command::Idle(self.id))
    }
}

#[cfg(test)]
mod tests;
