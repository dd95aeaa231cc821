//! Runs the thread that commits batches: one at a time, again and again until the sink has it.
//!
//! It also asks the sink for the checkpoints of other nodes. Log files and the quarantine are
//! synced first; if that fails, it is logged, and the batch goes all the same.
//! Invariant: after a failure it prepares the tables and claims the source again, then reads the
//! checkpoint. Sinks rely on that claim; it may fence another process off. It delivers again only
//! where the sink holds the checkpoint before the batch. If the sink holds the batch's own
//! checkpoint, the batch is done.
//! A batch is given up when the sink says `Fenced` or holds any third checkpoint, because another
//! process delivers this source. It is also given up when the pipeline ends. After a failed try it
//! may have been committed all the same; the next run begins at the checkpoint.
//! A batch that the engine refuses is tried again without end. Pauses double with jitter, from
//! 50 ms to 5 s. The end of the pipeline cuts a pause short, but not a call of the sink.
//! Never here: when a batch is due (`run`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use stdx::{Backoff, DiskFile};

use crate::batch::{Batch, Checkpoint, Table};
use crate::error::SinkError;
use crate::sink::Sink;
use crate::status::Status;

/// How often a waiting delivery looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A delivery thread with at most one batch in its hands.
#[derive(Debug)]
pub(crate) struct Delivery {
    tasks: Option<SyncSender<DeliveryTask>>,
    done: Receiver<DeliveryOutcome>,
    in_flight: bool,
    gives_up: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is to be done.
pub(crate) enum DeliveryTask {
    /// Commits a batch once these files are durable.
    Deliver(Batch, Vec<Arc<dyn DiskFile>>),
    /// Asks which checkpoints this source has in the sink.
    Others(String),
}

/// What was done.
pub(crate) enum DeliveryOutcome {
    /// A batch was committed, or cannot be.
    Delivered(Result<Batch, SinkError>),
    /// The checkpoints in the sink.
    Others(Result<Vec<Checkpoint>, SinkError>),
}

impl Delivery {
    pub(crate) fn start(
        sink: Box<dyn Sink>,
        tables: Vec<Arc<Table>>,
        status: Arc<Status>,
    ) -> std::io::Result<Self> {
        let (tasks, to_do) = sync_channel::<DeliveryTask>(1);
        let (report, done) = sync_channel(1);
        let gives_up = Arc::new(AtomicBool::new(false));
        let mut worker = DeliveryWorker { sink, tables, status, gives_up: Arc::clone(&gives_up) };
        let thread = std::thread::Builder::new().name("deliver".to_owned()).spawn(move || {
            for task in to_do {
                if report.send(worker.run(task)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { tasks: Some(tasks), done, in_flight: false, gives_up, thread: Some(thread) })
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight
    }

    /// Hands over a task; only when not busy.
    pub(crate) fn hand_over(&mut self, task: DeliveryTask) {
        debug_assert!(!self.in_flight, "one batch at a time keeps checkpoints in order");
        self.in_flight = true;
        if let Some(tasks) = &self.tasks {
            // A thread that died is noticed when its answer is awaited.
            let _ = tasks.send(task);
        }
    }

    /// Returns what became of the task in flight, if that is known already.
    pub(crate) fn poll(&mut self) -> Option<DeliveryOutcome> {
        match self.done.try_recv() {
            Ok(done) => {
                self.in_flight = false;
                Some(done)
            }
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(DeliveryOutcome::Delivered(Err(died()))),
        }
    }

    /// Waits for the task in flight, at most this long.
    pub(crate) fn wait(&mut self, at_most: Duration) -> Option<DeliveryOutcome> {
        match self.done.recv_timeout(at_most) {
            Ok(done) => {
                self.in_flight = false;
                Some(done)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                Some(DeliveryOutcome::Delivered(Err(died())))
            }
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.gives_up.store(true, Ordering::Relaxed);
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was logged by the runtime; whoever supervises starts the pipeline again.
            let _ = thread.join();
        }
    }
}

fn died() -> SinkError {
    let reason = "the thread that delivers ended by a panic; its message is above".to_owned();
    SinkError::Unreachable { engine: "sink", place: "thread".to_owned(), reason }
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

struct DeliveryWorker {
    sink: Box<dyn Sink>,
    tables: Vec<Arc<Table>>,
    status: Arc<Status>,
    gives_up: Arc<AtomicBool>,
}

impl DeliveryWorker {
    fn run(&mut self, task: DeliveryTask) -> DeliveryOutcome {
        match task {
            DeliveryTask::Others(source) => DeliveryOutcome::Others(self.sink.checkpoints(&source)),
            DeliveryTask::Deliver(batch, to_sync) => {
                sync(&to_sync);
                let outcome = self.carry(&batch);
                DeliveryOutcome::Delivered(outcome.map(|()| batch))
            }
        }
    }

    fn carry(&mut self, batch: &Batch) -> Result<(), SinkError> {
        let seed = u64::from(std::process::id()) ^ batch.checkpoint.sequence;
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, seed);
        let mut error = match self.sink.deliver(batch) {
            Ok(()) => {
                *self.status.last_error.lock() = None;
                return Ok(());
            }
            Err(error @ SinkError::Fenced { .. }) => return Err(error),
            Err(error) => error,
        };
        loop {
            *self.status.last_error.lock() = Some(error.to_string());
            tracing::warn!(%error, "delivery failed, trying again");
            if !self.pause(backoff.delay()) {
                return Err(error);
            }
            error = match self.again(batch) {
                Ok(()) => {
                    *self.status.last_error.lock() = None;
                    return Ok(());
                }
                Err(error @ SinkError::Fenced { .. }) => return Err(error),
                Err(error) => error,
            };
        }
    }

    /// Looks what the sink stores; delivers again only where nothing of the batch is there.
    fn again(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.sink.prepare(&self.tables)?;
        let wanted = &batch.checkpoint;
        self.sink.claim(&wanted.node, &wanted.source)?;
        let checkpoints = self.sink.checkpoints(&wanted.source)?;
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

    /// Waits; false when the pipeline ends meanwhile.
    fn pause(&self, total: Duration) -> bool {
        let end = std::time::Instant::now() + total;
        while std::time::Instant::now() < end {
            if self.gives_up.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        true
    }
}
