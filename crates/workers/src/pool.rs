//! Lends free workers to requests of all cores, in the order in which the requests came.
//!
//! [`WorkerPool`] waits, counts and tells the supervisor; [`Loan`] is one worker for one request,
//! and says how the request ended. Also here: status, alarms and readiness, as the program reads
//! them.
//! Invariants: no worker is lent beyond `concurrency`, but for requests that go ahead. Each loan is
//! settled once, when it is dropped. A request that gives up leaves the queue, and a worker that
//! was offered to it goes to the next. To lend a free worker takes one short lock and no wait.
//! Bounds: a request that finds `queue_max` others waiting is refused; one that waits until its
//! deadline is refused, too. Both are counted. The binary's `workers.rs` turns each [`LendError`]
//! into a refusal of the gateway; CONTRIBUTING.md has the statuses. A pool is ready by answers, and
//! idle workers answer a ping each second (`supervise/timeouts.rs`). The gateway takes readiness
//! for the upstream's health.
//! Never here: which worker is next (`pool/lending.rs`), what a loan's end means for a worker
//! (`slot.rs`), starting and ending processes (`supervise`).

mod lending;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::command::PoolCommand;
use crate::metrics::Metrics;
use crate::plan::Plan;
use crate::slot::{LoanEnd, WorkerSlot};
use crate::status::{LastStatus, Status};
pub(crate) use lending::Availability;
use lending::{Lending, LentWorker, WorkerChoice};

/// How long ago a worker may have answered for the pool to be ready.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(10);
/// How long an app may take, at most, to notice that nobody waits for what it sends.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);

/// The workers of one app, shared by all cores.
#[derive(Debug)]
pub struct WorkerPool {
    pub(crate) plan: Arc<Plan>,
    pub(crate) last_status: LastStatus,
    pub(crate) metrics: Metrics,
    lending: Mutex<Lending<oneshot::Sender<Offer>>>,
    /// Bounded by the loans there are.
    commands: mpsc::UnboundedSender<PoolCommand>,
}

/// Why a request gets no worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LendError {
    /// As many requests wait as may.
    #[error("{0} requests wait for a worker already")]
    Full(usize),
    /// None was free in time.
    #[error("no worker was free in time")]
    TimedOut,
    /// There are none, and none is about to come.
    #[error("there is no worker: {0}")]
    NoWorkers(Arc<str>),
}

impl WorkerPool {
    pub(crate) fn new(
        plan: Plan,
        registry: &metrics::Registry,
        commands: mpsc::UnboundedSender<PoolCommand>,
    ) -> Self {
        Self {
            metrics: Metrics::new(registry, &plan.name),
            plan: Arc::new(plan),
            last_status: LastStatus::default(),
            lending: Mutex::new(Lending::new()),
            commands,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Returns a worker for one request; waits for a free one until `deadline`, by tokio's timer.
    /// Dropping the future takes the request out of the queue.
    ///
    /// # Errors
    /// When the queue is full, none is free in time, or there is none and none is to be expected.
    pub async fn take(self: &Arc<Self>, deadline: Instant) -> Result<Loan, LendError> {
        self.take_for(WorkerChoice::Free, deadline).await
    }

    /// The same for a request that may be taken back while the worker has not begun it. It may get
    /// a worker that answers quickly before that is free: see [`Loan::is_ahead`].
    ///
    /// # Errors
    /// As for [`Self::take`].
    pub async fn take_ahead(self: &Arc<Self>, deadline: Instant) -> Result<Loan, LendError> {
        self.take_for(WorkerChoice::Ahead, deadline).await
    }

    async fn take_for(
        self: &Arc<Self>,
        choice: WorkerChoice,
        end: Instant,
    ) -> Result<Loan, LendError> {
        let began = Instant::now();
        let mut queued = match self.take_or_queue(choice, began)? {
            Ok(loan) => return Ok(loan),
            Err(queued) => queued,
        };
        let offered = tokio::time::timeout_at(end.into(), &mut queued.offered).await;
        self.metrics.waited.record(began.elapsed());
        match offered {
            Ok(Ok(offer)) => Ok(offer.accept()),
            Ok(Err(_)) => {
                let reason = self.lending.lock().unavailable();
                Err(LendError::NoWorkers(reason.unwrap_or_else(|| "the pool has ended".into())))
            }
            Err(_) => {
                self.metrics.refused_timed_out.add(1);
                Err(LendError::TimedOut)
            }
        }
    }

    /// Whether a worker has answered within the last 10 seconds.
    pub fn is_ready(&self) -> bool {
        has_answered(&self.lending.lock().slots)
    }

    /// What is known of it, for `/status` and `tidegate workers list`.
    pub fn status(&self) -> Status {
        let mut status = self.last_status.get();
        let lending = self.lending.lock();
        status.ready = has_answered(&lending.slots);
        status.queue = lending.waiting();
        status.in_flight = lending.slots.iter().map(|slot| slot.loans).sum();
        for worker in &mut status.workers {
            if let Some(slot) = lending.slots.iter().find(|slot| slot.id == worker.id) {
                slot.describe(worker);
            }
        }
        status
    }

    /// What an operator should look at, in words.
    pub fn alarms(&self) -> Vec<String> {
        self.last_status.get().alarms
    }

    /// Replaces every worker by a new one, one at a time.
    pub fn recycle(&self) {
        self.send(PoolCommand::Recycle);
    }

    /// Imports the app anew, with a new preload process if files of the present one have changed.
    /// The present workers serve until the new ones have answered.
    pub fn reload(&self) {
        self.send(PoolCommand::Reload);
    }

    pub(crate) fn send(&self, command: PoolCommand) {
        // A supervisor that has ended needs to know nothing.
        let _ = self.commands.send(command);
    }

    /// The loan, or a place in the queue.
    fn take_or_queue(
        self: &Arc<Self>,
        choice: WorkerChoice,
        now: Instant,
    ) -> Result<Result<Loan, QueuePlace>, LendError> {
        let mut lending = self.lending.lock();
        if lending.waiting() == 0
            && let Some(worker) = lending.lend(choice, now)
        {
            drop(lending);
            self.metrics.waited.record_ns(0);
            return Ok(Ok(Offer::new(self, worker, now).accept()));
        }
        if let Some(reason) = lending.unavailable() {
            self.metrics.refused_no_workers.add(1);
            return Err(LendError::NoWorkers(reason));
        }
        if lending.waiting() >= self.plan.queue_max {
            self.metrics.refused_full.add(1);
            return Err(LendError::Full(lending.waiting()));
        }
        let (offer, offered) = oneshot::channel();
        let ticket = lending.wait(offer, choice);
        Ok(Err(QueuePlace { pool: Arc::clone(self), ticket, offered }))
    }

    /// A loan has ended.
    fn settle(self: &Arc<Self>, loan: &Loan) {
        let end = loan.end;
        let mut lending = self.lending.lock();
        // The slot of a worker that has ended is gone, with its loans.
        let Some(slot) = lending.slot(loan.worker.id) else { return };
        // An app notices that nobody listens when it sends the next time.
        let notice_deadline = Instant::now() + NOTICE_TIMEOUT.min(self.plan.timeout);
        let deadline = notice_deadline.max(loan.taken + self.plan.timeout);
        let commands = slot.settle(end, deadline);
        if end == LoanEnd::Done {
            self.metrics.requests.add(1);
        }
        drop(lending);
        commands.into_iter().flatten().for_each(|command| self.send(command));
        self.hand_on();
    }

    /// Puts a worker in service.
    pub(crate) fn add_slot(self: &Arc<Self>, slot: WorkerSlot) {
        self.lending.lock().slots.push(slot);
        self.hand_on();
    }

    /// Takes a worker out of service; returns its slot as it was.
    pub(crate) fn remove_slot(&self, worker: u64) -> Option<WorkerSlot> {
        self.lending.lock().remove_slot(worker)
    }

    /// Lends a worker no more; returns whether it has nothing left to do.
    pub(crate) fn close(&self, worker: u64) -> bool {
        self.with(worker, |slot| {
            slot.is_open = false;
            slot.loans == 0
        })
        .unwrap_or(true)
    }

    /// Changes a slot, tells the supervisor what follows, and hands on what became free by that.
    pub(crate) fn change(
        self: &Arc<Self>,
        worker: u64,
        f: impl FnOnce(&mut WorkerSlot) -> Option<PoolCommand>,
    ) {
        if let Some(command) = self.with(worker, f).flatten() {
            self.send(command);
        }
        self.hand_on();
    }

    /// A worker has ended a request that nobody waits for; returns how many such it has left.
    pub(crate) fn free(self: &Arc<Self>, worker: u64) -> Option<usize> {
        let mut left = None;
        self.change(worker, |slot| {
            let command = slot.free();
            left = Some(slot.abandoned);
            command
        });
        left
    }

    /// Reads or changes a slot.
    pub(crate) fn with<T>(&self, worker: u64, f: impl FnOnce(&mut WorkerSlot) -> T) -> Option<T> {
        self.lending.lock().slot(worker).map(f)
    }

    /// The workers in service that have no request.
    pub(crate) fn idle_workers(&self) -> Vec<u64> {
        let lending = self.lending.lock();
        lending.slots.iter().filter(|slot| slot.loans == 0).map(|slot| slot.id).collect()
    }

    /// Says whether waiting makes sense; if not, nobody waits any more.
    pub(crate) fn set_availability(&self, availability: Availability) {
        let refused = self.lending.lock().set_availability(availability);
        self.metrics.refused_no_workers.add(refused.len() as u64);
    }

    /// Sets the gauges.
    pub(crate) fn measure_queue(&self) {
        let lending = self.lending.lock();
        let busy = lending.slots.iter().filter(|slot| slot.loans > 0).count();
        let set = |gauge: &metrics::Gauge, count: usize| {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        };
        set(&self.metrics.workers, lending.slots.len());
        set(&self.metrics.busy, busy);
        set(&self.metrics.waiting, lending.waiting());
    }

    /// Gives what is free to the requests that wait, oldest first.
    fn hand_on(self: &Arc<Self>) {
        loop {
            let mut lending = self.lending.lock();
            if lending.waiting() == 0 {
                return;
            }
            let now = Instant::now();
            let Some((waiter, worker)) = lending.lend_to_next(now) else { return };
            drop(lending);
            // One that has given up meanwhile gives it back by dropping it.
            drop(waiter.send(Offer::new(self, worker, now)));
        }
    }

    /// An offer that nobody took.
    fn give_back(self: &Arc<Self>, worker: &LentWorker) {
        self.change(worker.id, WorkerSlot::give_back);
    }
}

fn has_answered(slots: &[WorkerSlot]) -> bool {
    slots.iter().any(|slot| slot.answered.elapsed() < ANSWER_AGE_MAX)
}

/// A worker for one request.
///
/// Dropped without a word it counts as abandoned: nobody wants the answer any more, and the worker
/// may still be at it. The worker is lent again when it says that it is free. It is killed when
/// its request takes longer than requests may.
#[derive(Debug)]
#[must_use = "dropping it abandons the request"]
pub struct Loan {
    pool: Arc<WorkerPool>,
    worker: LentWorker,
    taken: Instant,
    end: LoanEnd,
}

impl Loan {
    /// The worker's number: grows in the order in which workers start, never comes twice in the
    /// life of a pool.
    pub fn worker(&self) -> u64 {
        self.worker.id
    }

    /// The Unix socket on which it listens; no other worker of this pool ever gets the same path.
    pub fn socket(&self) -> &Path {
        &self.worker.socket
    }

    /// Whether the worker had as many requests as it takes at once.
    pub fn is_ahead(&self) -> bool {
        self.worker.is_ahead
    }

    /// The worker has not begun the request, and has nothing of it left.
    ///
    /// One that was free has another request then, which was thought to be over. That one counts
    /// as abandoned in place of this one: else the worker would be lent at once, in vain.
    pub fn given_back(mut self) {
        if self.worker.is_ahead {
            self.end = LoanEnd::GivenBack;
        }
    }

    /// The answer was read to its end: the worker is free.
    pub fn done(mut self) {
        self.end = LoanEnd::Done;
    }

    /// The request took longer than it may: the worker is killed.
    pub fn timed_out(mut self) {
        self.end = LoanEnd::TimedOut;
    }

    /// The connection could not be made, or broke: the worker is lent again when it shows that it
    /// lives.
    pub fn lost(mut self) {
        self.end = LoanEnd::Lost;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.pool.settle(self);
    }
}

/// A worker on its way to a request that waits; dropping it gives the worker back unused.
#[derive(Debug)]
struct Offer {
    /// None once it is accepted.
    lent: Option<(Arc<WorkerPool>, LentWorker)>,
    taken: Instant,
}

impl Offer {
    fn new(pool: &Arc<WorkerPool>, worker: LentWorker, taken: Instant) -> Self {
        Self { lent: Some((Arc::clone(pool), worker)), taken }
    }

    fn accept(mut self) -> Loan {
        let (pool, worker) = self.lent.take().expect("an offer is accepted once");
        Loan { pool, worker, taken: self.taken, end: LoanEnd::Abandoned }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some((pool, worker)) = self.lent.take() {
            pool.give_back(&worker);
        }
    }
}

/// A place in the queue; dropping it leaves the queue.
struct QueuePlace {
    pool: Arc<WorkerPool>,
    ticket: u64,
    offered: oneshot::Receiver<Offer>,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.pool.lending.lock().leave(self.ticket);
    }
}

#[cfg(test)]
mod tests;
