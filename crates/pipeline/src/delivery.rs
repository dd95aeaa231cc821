//! Makes all calls of a pipeline's sink, on threads that the pipelines of one sink share: claims
//! the source, commits batches, reads checkpoints.
//!
//! A sink that hangs holds only its own threads, which are at most as many as cores. A batch is
//! tried again and again until the sink has it, and holds no thread during a pause. Log files and
//! the quarantine are synced before its first try; if that fails, it is logged, and the batch goes
//! all the same. The pipeline is woken when its task is done, and after each try that failed.
//! Invariant: one task at a time, by one sink of its own, which is dropped before `is_closed`.
//! After a failure it prepares the tables and claims the source again, then reads the checkpoint.
//! Sinks rely on that claim; it may fence another process off. It delivers again only where the
//! sink holds the checkpoint before the batch. If the sink holds the batch's own checkpoint, the
//! batch is done.
//! A batch is given up when the sink says `Fenced` or holds any third checkpoint, because another
//! process delivers this source. It is also given up when the pipeline ends. After a failed try it
//! may have been committed all the same; the next run begins at the checkpoint.
//! A batch that the engine refuses is tried again without end. Pauses double with jitter, from
//! 50 ms to 5 s. The end of the pipeline cuts a pause short, but not a call of the sink.
//! Never here: when a batch is due (`run`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stdx::{Backoff, DiskFile};

use crate::batch::{Batch, Checkpoint, Table};
use crate::error::SinkError;
use crate::sink::Sink;
use crate::status::Status;
use crate::worker_threads::{NextStep, Task, TaskWaker, WorkerThreads};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Threads for the calls of one sink.
pub(crate) struct SinkThreads {
    threads: WorkerThreads,
    outage: SinkOutage,
}

/// Why a sink cannot be reached, while that is so for every pipeline that asks.
#[derive(Debug, Clone, Default)]
struct SinkOutage(Arc<Mutex<Option<String>>>);

/// A sink of one pipeline, with at most one task in its hands.
pub(crate) struct Delivery {
    mailbox: Arc<Mailbox>,
    task: TaskWaker,
    outage: SinkOutage,
    in_flight: bool,
}

/// What is to be done.
pub(crate) enum DeliveryTask {
    /// Makes the tables, takes a source over for a node, and asks where to go on.
    Claim {
        /// The node.
        node: String,
        /// The source.
        source: String,
    },
    /// Commits a batch once these files are durable.
    Deliver(Batch, Vec<Arc<dyn DiskFile>>),
    /// Asks which checkpoints this source has in the sink.
    Checkpoints(String),
}

/// What was done.
pub(crate) enum DeliveryOutcome {
    /// A batch was committed, or cannot be.
    Delivered(Result<Batch, SinkError>),
    /// The checkpoints in the sink.
    Checkpoints(Result<Vec<Checkpoint>, SinkError>),
}

/// What a pipeline and its sink tell each other.
#[derive(Default)]
struct Mailbox {
    task: Mutex<Option<DeliveryTask>>,
    outcome: Mutex<Option<DeliveryOutcome>>,
    gives_up: AtomicBool,
    is_closed: AtomicBool,
}

impl SinkThreads {
    /// Starts so many threads.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(count: usize) -> std::io::Result<Self> {
        let threads = WorkerThreads::start("deliver", count)?;
        Ok(Self { threads, outage: SinkOutage::default() })
    }
}

impl Delivery {
    /// Gives `sink` to the threads; `pipeline` is woken when something is done.
    pub(crate) fn start(
        threads: &SinkThreads,
        sink: Box<dyn Sink>,
        tables: Vec<Arc<Table>>,
        status: Arc<Status>,
        pipeline: TaskWaker,
    ) -> Self {
        let mailbox = Arc::<Mailbox>::default();
        let outage = threads.outage.clone();
        let to_wake = WakeGuard { mailbox: Arc::clone(&mailbox), pipeline };
        let task = threads.threads.add(|_| DeliveryWorker {
            sink,
            tables,
            status,
            outage: outage.clone(),
            attempt: None,
            to_wake,
        });
        Self { mailbox, task, outage, in_flight: false }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight
    }

    /// Hands over a task; only when not busy.
    pub(crate) fn hand_over(&mut self, task: DeliveryTask) {
        debug_assert!(!self.in_flight, "one batch at a time keeps checkpoints in order");
        self.in_flight = true;
        *self.mailbox.task.lock() = Some(task);
        self.task.wake();
    }

    /// Returns what became of the task in flight, if that is known already.
    ///
    /// # Errors
    /// When the sink panicked.
    pub(crate) fn poll(&mut self) -> Result<Option<DeliveryOutcome>, SinkError> {
        if !self.in_flight {
            return Ok(None);
        }
        // Asked for first: what it reports before it ends is not overlooked.
        let is_closed = self.is_closed();
        let outcome = self.mailbox.outcome.lock().take();
        if outcome.is_none() && is_closed {
            return Err(panicked());
        }
        self.in_flight = outcome.is_none();
        Ok(outcome)
    }

    /// Why the task in flight has to wait for others that cannot reach the sink.
    pub(crate) fn outage(&self) -> Option<String> {
        let is_queued = self.in_flight && self.mailbox.task.lock().is_some();
        is_queued.then(|| self.outage.0.lock().clone()).flatten()
    }

    /// Ends it: what is under way is given up after the call that is being made.
    pub(crate) fn close(&self) {
        self.mailbox.gives_up.store(true, Ordering::Relaxed);
        self.task.wake();
    }

    /// Whether the sink is gone, after `close` or a panic. The pipeline is woken then.
    pub(crate) fn is_closed(&self) -> bool {
        self.mailbox.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.close();
    }
}

fn panicked() -> SinkError {
    let reason = "the sink ended by a panic; its message is above".to_owned();
    SinkError::Unreachable { engine: "sink", place: "thread".to_owned(), reason }
}

impl SinkOutage {
    /// Notes whether the engine gave an answer.
    fn note<T>(&self, outcome: &Result<T, SinkError>) {
        *self.0.lock() = match outcome {
            Err(error @ SinkError::Unreachable { .. }) => Some(error.to_string()),
            _ => None,
        };
    }
}

/// Makes log files and the quarantine durable. What cannot be made durable is delivered all the
/// same: its rows are right. Should a log come back shorter after a power cut, its source notices.
fn sync(files: &[Arc<dyn DiskFile>]) {
    for file in files {
        if let Err(error) = file.sync() {
            tracing::error!(%error, "a log or the quarantine cannot be made durable");
        }
    }
}

/// The side of the sink.
struct DeliveryWorker {
    sink: Box<dyn Sink>,
    tables: Vec<Arc<Table>>,
    status: Arc<Status>,
    outage: SinkOutage,
    attempt: Option<BatchAttempt>,
    /// Behind the sink, so that this is dropped first.
    to_wake: WakeGuard,
}

/// Wakes the pipeline, also when the sink is gone.
struct WakeGuard {
    mailbox: Arc<Mailbox>,
    pipeline: TaskWaker,
}

/// A batch that the sink did not take yet.
struct BatchAttempt {
    batch: Batch,
    backoff: Backoff,
    due: Instant,
}

impl Task for DeliveryWorker {
    fn step(&mut self) -> NextStep {
        if self.to_wake.mailbox.gives_up.load(Ordering::Relaxed) {
            return NextStep::Ended;
        }
        let (attempt, outcome) = match self.attempt.take() {
            Some(attempt) if Instant::now() < attempt.due => {
                let due = attempt.due;
                self.attempt = Some(attempt);
                return NextStep::At(due);
            }
            Some(attempt) => {
                let outcome = self.again(&attempt.batch);
                (attempt, outcome)
            }
            None => match self.begin() {
                Some(begun) => begun,
                None => return NextStep::OnWake,
            },
        };
        self.outage.note(&outcome);
        self.judge(attempt, outcome)
    }
}

impl DeliveryWorker {
    /// Does the task that was handed over; a batch comes back with the outcome of the first try.
    fn begin(&mut self) -> Option<(BatchAttempt, Result<(), SinkError>)> {
        let task = self.to_wake.mailbox.task.lock().take()?;
        let checkpoints = match task {
            DeliveryTask::Claim { node, source } => self.claim(&node, &source),
            DeliveryTask::Checkpoints(source) => self.sink.checkpoints(&source),
            DeliveryTask::Deliver(batch, to_sync) => {
                sync(&to_sync);
                let outcome = self.sink.deliver(&batch);
                let seed = u64::from(std::process::id()) ^ batch.checkpoint.sequence;
                let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, seed);
                return Some((BatchAttempt { batch, backoff, due: Instant::now() }, outcome));
            }
        };
        self.outage.note(&checkpoints);
        self.report(DeliveryOutcome::Checkpoints(checkpoints));
        None
    }

    /// Says what becomes of a batch after a try.
    fn judge(&mut self, mut attempt: BatchAttempt, outcome: Result<(), SinkError>) -> NextStep {
        match outcome {
            Ok(()) => {
                *self.status.last_error.lock() = None;
                self.report(DeliveryOutcome::Delivered(Ok(attempt.batch)));
                NextStep::OnWake
            }
            Err(fenced @ SinkError::Fenced { .. }) => {
                self.report(DeliveryOutcome::Delivered(Err(fenced)));
                NextStep::OnWake
            }
            Err(error) => {
                *self.status.last_error.lock() = Some(error.to_string());
                tracing::warn!(%error, "delivery failed, trying again");
                attempt.due = Instant::now() + attempt.backoff.delay();
                let due = attempt.due;
                self.attempt = Some(attempt);
                self.to_wake.pipeline.wake();
                NextStep::At(due)
            }
        }
    }

    fn report(&self, outcome: DeliveryOutcome) {
        *self.to_wake.mailbox.outcome.lock() = Some(outcome);
        self.to_wake.pipeline.wake();
    }

    fn claim(&mut self, node: &str, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.sink.prepare(&self.tables)?;
        self.sink.claim(node, source)?;
        self.sink.checkpoints(source)
    }

    /// Looks what the sink stores; delivers again only where nothing of the batch is there.
    fn again(&mut self, batch: &Batch) -> Result<(), SinkError> {
        let wanted = &batch.checkpoint;
        let checkpoints = self.claim(&wanted.node, &wanted.source)?;
        let stored = checkpoints.into_iter().find(|stored| stored.node == wanted.node);
        match stored {
            Some(stored) if stored == *wanted => Ok(()),
            Some(stored) if stored.sequence + 1 != wanted.sequence => Err(SinkError::Fenced {
                source_name: wanted.source.clone(),
                stored: stored.sequence,
                expected: wanted.sequence - 1,
            }),
            None if wanted.sequence > 1 => Err(SinkError::Fenced {
                source_name: wanted.source.clone(),
                stored: 0,
                expected: wanted.sequence - 1,
            }),
            _ => self.sink.deliver(batch),
        }
    }
}

impl Drop for WakeGuard {
    fn drop(&mut self) {
        self.mailbox.is_closed.store(true, Ordering::Release);
        self.pipeline.wake();
    }
}

#[cfg(test)]
mod tests;
