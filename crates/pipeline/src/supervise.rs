//! Runs pipelines on few threads, and starts each again from the checkpoint whenever it fails or
//! panics. It ends when it has delivered all that it should, or is to stop.
//!
//! Threads that read and count are at most one a core, and so are those of each sink. Each pipeline
//! is one task: it runs, stands by, waits for its sink to go, or pauses. Pauses grow from 50 ms to
//! 10 s with jitter, and begin anew after a run of over 30 s. Users read of them in
//! docs/operating/failures.md.
//! Invariant: nothing of a failed pipeline is used again, and the next one begins when its sink is
//! gone. What it had in memory was not committed, or the sink knows it; it is read again from the
//! checkpoint. That nothing is lost or doubled then, the sink's transaction sees to.
//! A pipeline that was fenced off stands by (`stand_by`).
//! Never here: one run (`run`), and starting the record process (`record`). Giving up is not here
//! either: `tidegate/src/events/running.rs` does, from `last_error` and `batches`.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stdx::Backoff;

use crate::delivery::{Delivery, SinkThreads};
use crate::error::{RunError, SinkError};
use crate::run::{Pipeline, Run};
use crate::stand_by::StandBy;
use crate::status::Status;
use crate::stop::StopSignal;
use crate::worker_threads::{NextStep, Task, TaskWaker, WorkerThreads};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A pipeline that ran this long is taken to have been well.
const WELL_AFTER: Duration = Duration::from_secs(30);

/// A pipeline that is to be run.
pub struct PipelineSetup {
    /// What it is called in messages.
    pub name: String,
    /// The name of its sink: those with the same one share threads for it.
    pub sink_name: String,
    /// What an operator is shown of it.
    pub status: Arc<Status>,
    /// Makes it, anew for each start.
    pub make: Box<dyn Fn() -> Pipeline + Send>,
}

/// A pipeline that runs, and goes on when this is dropped.
pub struct PipelineHandle {
    stop: StopSignal,
    end: Arc<PipelineEnd>,
}

#[derive(Debug, Default)]
struct PipelineEnd {
    has_ended: AtomicBool,
    is_in_order: AtomicBool,
}

/// Runs these pipelines, each until it ends as it should or its stop is requested.
///
/// # Errors
/// When the system gives no thread.
pub fn supervise(setups: Vec<PipelineSetup>) -> io::Result<Vec<PipelineHandle>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let reading = WorkerThreads::start("line", setups.len().min(cores))?;
    let mut counts = BTreeMap::<String, usize>::new();
    for setup in &setups {
        *counts.entry(setup.sink_name.clone()).or_default() += 1;
    }
    let mut sinks = BTreeMap::new();
    for (name, pipelines) in counts {
        sinks.insert(name, Arc::new(SinkThreads::start(pipelines.min(cores))?));
    }
    let started = setups.into_iter().map(|setup| {
        let (stop, end) = (StopSignal::default(), Arc::<PipelineEnd>::default());
        let handle = PipelineHandle { stop: stop.clone(), end: Arc::clone(&end) };
        let threads = Arc::clone(&sinks[&setup.sink_name]);
        let end = EndGuard(end);
        let waker = reading.add(|waker| SupervisedPipeline {
            setup,
            stop: stop.clone(),
            threads,
            waker,
            backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, u64::from(std::process::id())),
            started: Instant::now(),
            state: PipelineState::Pausing(Instant::now()),
            end,
        });
        stop.wake(waker);
        handle
    });
    Ok(started.collect())
}

impl PipelineHandle {
    /// What makes it end.
    pub fn stop(&self) -> &StopSignal {
        &self.stop
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.end.has_ended.load(Ordering::Acquire)
    }

    /// Whether it has ended by a panic of its supervision, which is a bug.
    pub fn has_panicked(&self) -> bool {
        self.has_ended() && !self.end.is_in_order.load(Ordering::Acquire)
    }
}

/// Says that a pipeline has ended, however that came.
struct EndGuard(Arc<PipelineEnd>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Release);
    }
}

struct SupervisedPipeline {
    setup: PipelineSetup,
    stop: StopSignal,
    threads: Arc<SinkThreads>,
    waker: TaskWaker,
    backoff: Backoff,
    started: Instant,
    state: PipelineState,
    /// Last, so that nothing of the pipeline is left when its end is seen.
    end: EndGuard,
}

enum PipelineState {
    /// It starts at this instant.
    Pausing(Instant),
    Running(Box<Run>),
    /// Another process delivers.
    StandingBy(Box<StandBy>),
    /// Its sink is closed; then it goes on with the next state.
    Closing(Delivery, AfterClosing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterClosing {
    End,
    StandBy,
    Start,
    Pause,
}

impl Task for SupervisedPipeline {
    fn step(&mut self) -> NextStep {
        // A pipeline is made anew after a panic: nothing of the broken one is used again.
        let next = catch_unwind(AssertUnwindSafe(|| self.advance()));
        let next = next.unwrap_or_else(|_| self.fail("a stage panicked; its message is above"));
        if next == NextStep::Ended {
            self.end.0.is_in_order.store(true, Ordering::Release);
        }
        next
    }
}

impl SupervisedPipeline {
    fn advance(&mut self) -> NextStep {
        match &mut self.state {
            PipelineState::Pausing(end) if Instant::now() < *end => {
                if self.stop.is_requested() {
                    NextStep::Ended
                } else {
                    NextStep::At(*end)
                }
            }
            PipelineState::Pausing(_) => self.start(),
            PipelineState::Running(run) => match run.step(&self.stop) {
                Ok(NextStep::Ended) => self.close(AfterClosing::End),
                Ok(next) => next,
                Err(RunError::Sink(fence @ SinkError::Fenced { .. })) => self.fence_off(&fence),
                Err(error) => self.fail(&stdx::Chain(&error).to_string()),
            },
            PipelineState::StandingBy(watch) => match watch.step(&self.stop) {
                NextStep::Ended => {
                    self.end_stand_by();
                    self.close(AfterClosing::Start)
                }
                next => next,
            },
            PipelineState::Closing(delivery, _) if !delivery.is_closed() => NextStep::OnWake,
            PipelineState::Closing(_, then) => {
                let then = *then;
                self.go_on(then)
            }
        }
    }

    fn start(&mut self) -> NextStep {
        self.started = Instant::now();
        let pipeline = (self.setup.make)();
        let Self { setup, threads, waker, .. } = self;
        let run = Run::begin(pipeline, |sink, tables| {
            Delivery::start(threads, sink, tables, Arc::clone(&setup.status), waker.clone())
        });
        self.state = PipelineState::Running(Box::new(run));
        NextStep::Ready
    }

    /// Closes the sink, so that the next pipeline has the only one.
    fn close(&mut self, then: AfterClosing) -> NextStep {
        let pausing = PipelineState::Pausing(Instant::now());
        let delivery = match std::mem::replace(&mut self.state, pausing) {
            PipelineState::Running(run) => run.into_delivery(),
            PipelineState::StandingBy(watch) => watch.into_delivery(),
            PipelineState::Closing(delivery, _) => delivery,
            PipelineState::Pausing(_) => return self.go_on(then),
        };
        delivery.close();
        self.state = PipelineState::Closing(delivery, then);
        NextStep::Ready
    }

    fn go_on(&mut self, then: AfterClosing) -> NextStep {
        let now = Instant::now();
        self.state = PipelineState::Pausing(match then {
            AfterClosing::Pause => now + self.backoff.delay(),
            _ => now,
        });
        match then {
            AfterClosing::End => NextStep::Ended,
            AfterClosing::Start if self.stop.is_requested() => NextStep::Ended,
            AfterClosing::StandBy => self.stand_by(),
            AfterClosing::Start | AfterClosing::Pause => NextStep::Ready,
        }
    }

    /// Notes why it starts again after a pause.
    fn fail(&mut self, reason: &str) -> NextStep {
        let Self { setup, .. } = self;
        tracing::error!(pipeline = setup.name, reason, "starting again from the checkpoint");
        setup.status.fence.stands_by.store(false, Ordering::Relaxed);
        *setup.status.last_error.lock() = Some(reason.to_owned());
        Status::count(&setup.status.restarts, 1);
        if self.started.elapsed() > WELL_AFTER {
            self.backoff.reset();
        }
        self.close(AfterClosing::Pause)
    }

    /// Leaves the source to the other process until that has been quiet for a while.
    fn fence_off(&mut self, fence: &SinkError) -> NextStep {
        let Self { setup, .. } = self;
        let status = &setup.status;
        tracing::warn!(pipeline = setup.name, %fence, "standing by while another process delivers");
        Status::count(&status.fence.count, 1);
        *status.last_error.lock() = Some(fence.to_string());
        status.fence.stands_by.store(true, Ordering::Relaxed);
        self.close(AfterClosing::StandBy)
    }

    fn stand_by(&mut self) -> NextStep {
        let Self { setup, threads, waker, .. } = self;
        let Pipeline { sink, node, source_name, flush, .. } = (setup.make)();
        let status = Arc::clone(&setup.status);
        let delivery = Delivery::start(threads, sink, Vec::new(), status, waker.clone());
        let watch = StandBy::new(delivery, node, source_name, flush);
        self.state = PipelineState::StandingBy(Box::new(watch));
        NextStep::Ready
    }

    fn end_stand_by(&self) {
        let status = &self.setup.status;
        status.fence.stands_by.store(false, Ordering::Relaxed);
        *status.last_error.lock() = None;
    }
}

#[cfg(test)]
mod tests;
