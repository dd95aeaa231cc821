//! Runs pipelines, each in a thread: starts them, waits for them, and ends one that fails for too
//! long.
//!
//! "Fails" means that errors come without a batch in between; one batch starts the time anew. While
//! it waits, it shows how many bytes are done, if it is given a bar. A pipeline that fails is
//! started again by `pipeline::supervise`.
//! Invariant: giving up on one pipeline ends none of the others, and `wait_for_all` returns only
//! when all have ended. Without `give_up_after` it gives up none.
//! Never here: signals; callers request a stop of each pipeline.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pipeline::{Pipeline, Status, StopSignal};
use stdx::Span;

use crate::progress::Progress;

/// How often pipelines are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A pipeline in its thread.
pub(super) struct RunningPipeline {
    name: String,
    status: Arc<Status>,
    stop: StopSignal,
    thread: JoinHandle<()>,
    /// Since when it fails without a batch in between, and how many it had then.
    failing: Option<(Instant, u64)>,
    /// The most bytes that it was seen to be behind.
    behind_max: u64,
}

impl RunningPipeline {
    /// Starts a pipeline, and starts what `make` makes whenever it fails.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(
        name: String,
        status: Arc<Status>,
        make: impl Fn() -> Pipeline + Send + 'static,
    ) -> Result<Self> {
        let stop = StopSignal::default();
        let shared = (name.clone(), Arc::clone(&status), stop.clone());
        let work = move || pipeline::supervise(&shared.0, make, &shared.1, &shared.2);
        let thread = std::thread::Builder::new().name("line".to_owned()).spawn(work);
        let thread = thread.context("start a thread")?;
        Ok(Self { name, status, stop, thread, failing: None, behind_max: 0 })
    }

    /// What makes it end.
    pub(super) fn stop(&self) -> StopSignal {
        self.stop.clone()
    }

    /// How long it has failed, and why.
    fn failing(&mut self) -> Option<(Duration, String)> {
        let report = self.status.report(0);
        let Some(error) = report.last_error else {
            self.failing = None;
            return None;
        };
        if self.failing.is_none_or(|(_, batches)| batches != report.batches) {
            self.failing = Some((Instant::now(), report.batches));
        }
        self.failing.map(|(since, _)| (since.elapsed(), error))
    }

    /// Bytes that were done of those that were to be.
    fn done(&mut self) -> (u64, u64) {
        let behind = self.status.report(0).bytes_behind.unwrap_or(0);
        self.behind_max = self.behind_max.max(behind);
        (self.behind_max - behind, self.behind_max)
    }
}

/// Waits until all have ended; `give_up_after` bounds how long one may fail.
///
/// # Errors
/// Those that were given up, with their last error.
pub(super) fn wait_for_all(
    mut all: Vec<RunningPipeline>,
    give_up_after: Option<Duration>,
    progress: Option<&Progress>,
) -> Result<()> {
    let mut given_up = Vec::new();
    while all.iter().any(|one| !one.thread.is_finished()) {
        if let Some(progress) = progress {
            let done = all.iter_mut().map(RunningPipeline::done);
            let (done, total) = done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            progress.set(done, total);
        }
        let at_work =
            |one: &&mut RunningPipeline| !one.thread.is_finished() && !one.stop.is_requested();
        for one in all.iter_mut().filter(at_work) {
            if let (Some((so_long, error)), Some(bound)) = (one.failing(), give_up_after)
                && so_long >= bound
            {
                one.stop.request();
                given_up.push(format!("{} after {}: {error}", one.name, Span(bound)));
            }
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    for one in all {
        if one.thread.join().is_err() {
            bail!("a pipeline's supervisor panicked; its message is above");
        }
    }
    match given_up.as_slice() {
        [] => Ok(()),
        all => bail!("gave up {}", all.join("; ")),
    }
}
