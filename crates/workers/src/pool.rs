//! Lends free workers to requests of all cores, in the order in which they came.
//!
//! Invariants: a worker has at most `concurrency` loans; who waits longer is served first; a
//! request that gives up takes nothing with it; a free worker costs a short lock and no system
//! call. The queue is bounded, and who finds it full is told when to come back.
//!
//! Of several free workers the one that was used last is lent: its memory and caches are warm, the
//! others' pages stay shared with their parent, and workers wear out one after the other instead
//! of all at once. With `concurrency` above 1 the one with the fewest loans comes first.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::loan::{Loan, Offer, Outcome};
use crate::metrics::Metrics;
use crate::plan::Plan;
use crate::slot::WorkerSlot;
use crate::status::{Known, Status};

/// How long ago a worker may have answered for the pool to be ready.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long an app may take, at most, to notice that nobody waits for what it sends.
const NOTICE_WITHIN: Duration = Duration::from_secs(10);

/// The workers of one app, shared by all cores.
#[derive(Debug)]
pub struct Pool {
    pub(crate) plan: Plan,
    pub(crate) known: Known,
    pub(crate) metrics: Metrics,
    inner: Mutex<Inner>,
    /// Bounded by the loans there are.
    commands: mpsc::UnboundedSender<Command>,
}

/// Why a request gets no worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// As many wait already as may.
    #[error("{0} requests wait for a worker already")]
    Full(usize),
    /// None was free in time.
    #[error("no worker was free in time")]
    TimedOut,
    /// There are none, and none is about to come.
    #[error("there is no worker: {0}")]
    NoWorkers(Arc<str>),
}

/// What the supervisor is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Replace every worker, one at a time.
    Recycle,
    /// Import the app anew.
    Reload,
    /// A worker has had its requests.
    Worn(u64),
    /// A worker that is to leave has nothing left to do.
    Idle(u64),
    /// A request of a worker was abandoned, which may take until then.
    Abandoned(u64, Instant),
    /// A request of a worker took too long.
    TimedOut(u64),
    /// The connection to a worker broke.
    Suspect(u64),
    /// End everything.
    End,
}

/// Whether there is hope for who waits.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// Workers are there, or about to come.
    Hopeful,
    /// None is there, and the last tries have failed; or the pool has ended.
    Hopeless(Arc<str>),
}

#[derive(Debug)]
struct Inner {
    slots: Vec<WorkerSlot>,
    /// By ticket: the lowest came first.
    waiters: BTreeMap<u64, oneshot::Sender<Offer>>,
    next_ticket: u64,
    standing: Standing,
    /// Loans so far: orders slots by their last use.
    lent: u64,
}

impl Pool {
    pub(crate) fn new(
        plan: Plan,
        registry: &metrics::Registry,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        let metrics = Metrics::new(registry, &plan.name);
        let inner = Inner {
            slots: Vec::new(),
            waiters: BTreeMap::new(),
            next_ticket: 0,
            standing: Standing::Hopeful,
            lent: 0,
        };
        Self { plan, known: Known::default(), metrics, inner: Mutex::new(inner), commands }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Returns a worker for one request; waits for a free one until `end`, needs tokio's timer for
    /// that. Dropping the future takes the request out of the queue.
    ///
    /// # Errors
    /// When the queue is full, none is free in time, or there is none and no hope of one.
    pub async fn take(self: &Arc<Self>, end: Instant) -> Result<Loan, Refusal> {
        let began = Instant::now();
        let mut place = match self.take_or_queue(began)? {
            Ok(loan) => return Ok(loan),
            Err(place) => place,
        };
        let offered = tokio::time::timeout_at(end.into(), &mut place.offered).await;
        self.metrics.waited.record(began.elapsed());
        match offered {
            Ok(Ok(offer)) => Ok(offer.accept()),
            Ok(Err(_)) => {
                let reason = self.inner.lock().hopeless();
                Err(reason.unwrap_or_else(|| Refusal::NoWorkers("the pool has ended".into())))
            }
            Err(_) => {
                self.metrics.refused_timed_out.add(1);
                Err(Refusal::TimedOut)
            }
        }
    }

    /// Whether a worker has answered within the last 10 seconds.
    pub fn is_ready(&self) -> bool {
        let inner = self.inner.lock();
        inner.slots.iter().any(|slot| slot.answered.elapsed() < READY_WITHIN)
    }

    /// What is known of it, for `/status` and `tidegate workers list`.
    pub fn status(&self) -> Status {
        let mut status = self.known.get();
        let inner = self.inner.lock();
        status.ready = inner.slots.iter().any(|slot| slot.answered.elapsed() < READY_WITHIN);
        status.queue = inner.waiters.len();
        status.in_flight = inner.slots.iter().map(|slot| slot.loans).sum();
        for worker in &mut status.workers {
            if let Some(slot) = inner.slots.iter().find(|slot| slot.id == worker.id) {
                worker.show(slot);
            }
        }
        status
    }

    /// What an operator should look at, in words.
    pub fn alarms(&self) -> Vec<String> {
        self.known.get().alarms
    }

    /// Replaces every worker by a new one, one at a time.
    pub fn recycle(&self) {
        self.tell(Command::Recycle);
    }

    /// Imports the app anew, in a new keeper if what that loaded has changed; the present workers
    /// go on serving until the new ones have answered.
    pub fn reload(&self) {
        self.tell(Command::Reload);
    }

    pub(crate) fn tell(&self, command: Command) {
        // A supervisor that has ended needs to know nothing.
        let _ = self.commands.send(command);
    }

    /// The loan, or a place in the queue.
    fn take_or_queue(self: &Arc<Self>, now: Instant) -> Result<Result<Loan, Place>, Refusal> {
        let mut inner = self.inner.lock();
        if inner.waiters.is_empty()
            && let Some(slot) = inner.lend()
        {
            drop(inner);
            self.metrics.waited.record_ns(0);
            return Ok(Ok(Offer::new(self, slot, now).accept()));
        }
        if let Some(refusal) = inner.hopeless() {
            self.metrics.refused_no_workers.add(1);
            return Err(refusal);
        }
        if inner.waiters.len() >= self.plan.queue {
            self.metrics.refused_full.add(1);
            return Err(Refusal::Full(inner.waiters.len()));
        }
        let (offer, offered) = oneshot::channel();
        let ticket = inner.next_ticket;
        inner.next_ticket += 1;
        inner.waiters.insert(ticket, offer);
        Ok(Err(Place { pool: Arc::clone(self), ticket, offered }))
    }

    /// A loan has ended.
    pub(crate) fn settle(self: &Arc<Self>, id: u64, outcome: Outcome, taken: Instant) {
        let mut inner = self.inner.lock();
        // The slot of a worker that has ended is gone, with its loans.
        let Some(slot) = inner.slots.iter_mut().find(|slot| slot.id == id) else { return };
        // An app notices that nobody listens when it sends the next time.
        let notices_by = Instant::now() + NOTICE_WITHIN.min(self.plan.timeout);
        let told = slot.settle(outcome, notices_by.max(taken + self.plan.timeout));
        if outcome == Outcome::Done {
            self.metrics.requests.add(1);
        }
        drop(inner);
        told.into_iter().flatten().for_each(|command| self.tell(command));
        self.hand_on();
    }

    /// Puts a worker in service.
    pub(crate) fn add_slot(self: &Arc<Self>, slot: WorkerSlot) {
        self.inner.lock().slots.push(slot);
        self.hand_on();
    }

    /// Takes a worker out of service; returns its slot as it was.
    pub(crate) fn remove_slot(&self, id: u64) -> Option<WorkerSlot> {
        let mut inner = self.inner.lock();
        let at = inner.slots.iter().position(|slot| slot.id == id)?;
        Some(inner.slots.swap_remove(at))
    }

    /// Lends a worker no more; returns whether it has nothing left to do.
    pub(crate) fn close(&self, id: u64) -> bool {
        self.with(id, |slot| {
            slot.is_open = false;
            slot.loans == 0
        })
        .unwrap_or(true)
    }

    /// Changes or reads a slot, and hands on what became free by that.
    pub(crate) fn change<T>(
        self: &Arc<Self>,
        id: u64,
        f: impl FnOnce(&mut WorkerSlot) -> T,
    ) -> Option<T> {
        let changed = self.with(id, f);
        self.hand_on();
        changed
    }

    /// Reads a slot.
    pub(crate) fn with<T>(&self, id: u64, f: impl FnOnce(&mut WorkerSlot) -> T) -> Option<T> {
        self.inner.lock().slots.iter_mut().find(|slot| slot.id == id).map(f)
    }

    /// Says whether waiting makes sense; if not, nobody waits any more.
    pub(crate) fn stand(&self, standing: Standing) {
        let mut inner = self.inner.lock();
        let is_hopeless = matches!(standing, Standing::Hopeless(_));
        inner.standing = standing;
        if is_hopeless {
            let refused = std::mem::take(&mut inner.waiters);
            drop(inner);
            self.metrics.refused_no_workers.add(refused.len() as u64);
        }
    }

    /// Sets the gauges.
    pub(crate) fn measure_queue(&self) {
        let inner = self.inner.lock();
        let busy = inner.slots.iter().filter(|slot| slot.loans > 0).count();
        let set = |gauge: &metrics::Gauge, count: usize| {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&self.metrics.workers, inner.slots.len());
        set(&self.metrics.busy, busy);
        set(&self.metrics.waiting, inner.waiters.len());
    }

    /// Gives what is free to who waits, oldest first.
    pub(crate) fn hand_on(self: &Arc<Self>) {
        loop {
            let mut inner = self.inner.lock();
            if inner.waiters.is_empty() {
                return;
            }
            let Some(slot) = inner.lend() else { return };
            let Some((_, waiter)) = inner.waiters.pop_first() else { return };
            drop(inner);
            // One that has given up meanwhile gives it back by dropping it.
            drop(waiter.send(Offer::new(self, slot, Instant::now())));
        }
    }

    /// An offer that nobody took.
    pub(crate) fn give_back(self: &Arc<Self>, id: u64) {
        let idle = self.with(id, |slot| {
            slot.loans -= 1;
            (!slot.is_open && slot.loans == 0).then_some(Command::Idle(id))
        });
        if let Some(command) = idle.flatten() {
            self.tell(command);
        }
        self.hand_on();
    }
}

impl Inner {
    /// Lends the slot that has fewest loans, of several the one used last.
    fn lend(&mut self) -> Option<(u64, Arc<Path>)> {
        let free = self.slots.iter_mut().filter(|slot| slot.has_room());
        let slot = free.min_by_key(|slot| (slot.loans, std::cmp::Reverse(slot.used)))?;
        self.lent += 1;
        slot.lend(self.lent);
        Some((slot.id, Arc::clone(&slot.socket)))
    }

    fn hopeless(&self) -> Option<Refusal> {
        match &self.standing {
            Standing::Hopeless(reason) => Some(Refusal::NoWorkers(Arc::clone(reason))),
            Standing::Hopeful => None,
        }
    }
}

/// A place in the queue; dropping it leaves the queue.
struct Place {
    pool: Arc<Pool>,
    ticket: u64,
    offered: oneshot::Receiver<Offer>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.pool.inner.lock().waiters.remove(&self.ticket);
    }
}

#[cfg(test)]
mod tests;
