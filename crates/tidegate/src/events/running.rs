//! Runs pipelines: starts them, waits for them, and ends one that fails for too long.
//!
//! "Fails" means that errors come without a batch in between; one batch starts the time anew. While
//! it waits, it shows how many bytes are done, if it is given a bar. A pipeline that fails is
//! started again by `pipeline::supervise`, which also has the threads.
//! Invariant: giving up on one pipeline ends none of the others, and `wait_for_all` returns only
//! when all have ended. Without `give_up_after` it gives up none.
//! Never here: signals; callers request a stop of each pipeline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pipeline::{PipelineHandle, PipelineSetup, Status, StopSignal};
use stdx::Span;

use crate::progress::Progress;

/// How often pipelines are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A pipeline that runs.
pub(super) struct RunningPipeline {
    name: String,
    status: Arc<Status>,
    handle: PipelineHandle,
    /// Since when it fails without a batch in between, and how many it had then.
    failing: Option<(Instant, u64)>,
    /// The most bytes that it was seen to be behind.
    behind_max: u64,
}

/// Starts pipelines, and each again whenever it fails.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn start(setups: Vec<PipelineSetup>) -> Result<Vec<RunningPipeline>> {
    let names = setups.iter().map(|setup| (setup.name.clone(), Arc::clone(&setup.status)));
    let names: Vec<_> = names.collect();
    let handles = pipeline::supervise(setups).context("start threads for pipelines")?;
    let running = names.into_iter().zip(handles).map(|((name, status), handle)| RunningPipeline {
        name,
        status,
        handle,
        failing: None,
        behind_max: 0,
    });
    Ok(running.collect())
}

impl RunningPipeline {
    /// What makes it end.
    pub(super) fn stop(&self) -> StopSignal {
        self.handle.stop().clone()
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
    while all.iter().any(|one| !one.handle.has_ended()) {
        if let Some(progress) = progress {
            let done = all.iter_mut().map(RunningPipeline::done);
            let (done, total) = done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            progress.set(done, total);
        }
        let at_work = |one: &&mut RunningPipeline| {
            !one.handle.has_ended() && !one.handle.stop().is_requested()
        };
        for one in all.iter_mut().filter(at_work) {
            if let (Some((so_long, error)), Some(bound)) = (one.failing(), give_up_after)
                && so_long >= bound
            {
                one.handle.stop().request();
                given_up.push(format!("{} after {}: {error}", one.name, Span(bound)));
            }
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    if all.iter().any(|one| one.handle.has_panicked()) {
        bail!("a pipeline's supervisor panicked; its message is above");
    }
    match given_up.as_slice() {
        [] => Ok(()),
        all => bail!("gave up {}", all.join("; ")),
    }
}
