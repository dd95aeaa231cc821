//! Chooses which worker is lent next and which request is served next, for a pool that holds the
//! lock.
//!
//! The worker with the fewest requests under way comes first, and among those the one that was used
//! last. Its memory and caches are warm, and the others' pages stay shared with their parent. So
//! workers wear out one after the other instead of all at once. This order is measured: see
//! docs/decisions/workers.md (One queue) before changing it.
//! Where none is free, a request that may be taken back goes ahead to a worker that answers quickly
//! (`slot/quickness.rs`): docs/decisions/workers.md (Requests ahead).
//! Invariants: the request that waits longest is taken first. When the pool becomes unavailable the
//! queue is emptied; `pool.rs` lets nobody in after that, nor past those who wait, nor beyond
//! `queue_max`.
//! Also here: [`Availability`], whether waiting makes sense. Refuses: to wake anyone, which is done
//! in `pool.rs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::slot::WorkerSlot;

/// Whether waiting for a worker makes sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Availability {
    /// Workers are there, or about to come.
    Available,
    /// No worker is there, and the last starts have failed, or the pool has ended: the reason.
    Unavailable(Arc<str>),
}

/// The workers in service and the queue of requests; `W` wakes the request that waits.
#[derive(Debug)]
pub(crate) struct Lending<W> {
    pub slots: Vec<WorkerSlot>,
    /// By ticket: the lowest came first.
    waiters: BTreeMap<u64, (W, WorkerChoice)>,
    next_ticket: u64,
    availability: Availability,
    /// Loans so far: orders slots by their last use.
    loans_total: u64,
}

/// Which workers a request may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerChoice {
    /// One that has fewer requests than it takes at once.
    Free,
    /// Also one that is soon done with those it has.
    Ahead,
}

/// A worker that is lent.
#[derive(Debug)]
pub(crate) struct LentWorker {
    /// Its number.
    pub id: u64,
    /// Where it listens.
    pub socket: Arc<Path>,
    /// Whether it has as many others as it takes at once.
    pub is_ahead: bool,
}

impl<W> Lending<W> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            waiters: BTreeMap::new(),
            next_ticket: 0,
            availability: Availability::Available,
            loans_total: 0,
        }
    }

    /// Lends a worker.
    pub(crate) fn lend(&mut self, choice: WorkerChoice, now: Instant) -> Option<LentWorker> {
        let has_room = |slot: &WorkerSlot| {
            slot.has_room() || choice == WorkerChoice::Ahead && slot.has_room_ahead(now)
        };
        let free = self.slots.iter_mut().filter(|slot| has_room(slot));
        let slot = free.min_by_key(|slot| (slot.loans, std::cmp::Reverse(slot.used)))?;
        let is_ahead = !slot.has_room();
        self.loans_total += 1;
        slot.lend(self.loans_total, now);
        let (id, socket) = (slot.id, Arc::clone(&slot.socket));
        Some(LentWorker { id, socket, is_ahead })
    }

    /// Lends a worker to the request that waits longest, if one is there that it may go to.
    pub(crate) fn lend_to_next(&mut self, now: Instant) -> Option<(W, LentWorker)> {
        let (_, (_, choice)) = self.waiters.first_key_value()?;
        let worker = self.lend(*choice, now)?;
        let (_, (waiter, _)) = self.waiters.pop_first()?;
        Some((waiter, worker))
    }

    /// Puts a request at the end of the queue; returns its ticket.
    pub(crate) fn wait(&mut self, waiter: W, choice: WorkerChoice) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiters.insert(ticket, (waiter, choice));
        ticket
    }

    /// Takes a request out of the queue.
    pub(crate) fn leave(&mut self, ticket: u64) {
        self.waiters.remove(&ticket);
    }

    /// How many requests wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn slot(&mut self, worker: u64) -> Option<&mut WorkerSlot> {
        self.slots.iter_mut().find(|slot| slot.id == worker)
    }

    pub(crate) fn remove_slot(&mut self, worker: u64) -> Option<WorkerSlot> {
        let at = self.slots.iter().position(|slot| slot.id == worker)?;
        Some(self.slots.swap_remove(at))
    }

    /// Why nobody should wait; none when waiting makes sense.
    pub(crate) fn unavailable(&self) -> Option<Arc<str>> {
        match &self.availability {
            Availability::Unavailable(reason) => Some(Arc::clone(reason)),
            Availability::Available => None,
        }
    }

    /// Says whether waiting makes sense; returns those who wait in vain.
    pub(crate) fn set_availability(&mut self, availability: Availability) -> Vec<W> {
        self.availability = availability;
        let in_vain = match self.availability {
            Availability::Unavailable(_) => std::mem::take(&mut self.waiters),
            Availability::Available => BTreeMap::new(),
        };
        in_vain.into_values().map(|(waiter, _)| waiter).collect()
    }
}
