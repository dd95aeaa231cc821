//! Starts a pipeline again from the checkpoint whenever it fails or panics, until it ends in order
//! or is to stop.
//!
//! Pauses grow from 50 ms to 10 s with jitter, and begin anew after a run of over 30 s. Users read
//! of them in docs/operating/failures.md.
//! Invariant: nothing of a failed pipeline is used again. What it had in memory was not committed,
//! or the sink knows it; it is read again from the checkpoint. That nothing is lost or doubled
//! then, the sink's transaction sees to.
//! A pipeline that was fenced off stands by until the checkpoint has stood still for 3 s or three
//! flushes, whichever is longer (docs/operating/events.md). An idle log looks the same as a dead
//! process, so it may take over too early; then the first delivery decides again.
//! Never here: one run (`run`), and starting the record process (`record`). Giving up is not here
//! either: `tidegate/src/events/running.rs` does, from `last_error` and `batches`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stdx::Backoff;

use crate::error::{RunError, SinkError};
use crate::run::{Pipeline, StopSignal};
use crate::status::Status;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A pipeline that ran this long is taken to have been well.
const WELL_AFTER: Duration = Duration::from_secs(30);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long the checkpoint must stand still before a process that stands by takes over.
const QUIET: Duration = Duration::from_secs(3);

/// Runs pipelines that `make` makes, one after the other, until one ends as it should or a stop is
/// requested. `name` stands in messages.
pub fn supervise(name: &str, make: impl Fn() -> Pipeline, status: &Arc<Status>, stop: &StopSignal) {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, u64::from(std::process::id()));
    loop {
        let started = Instant::now();
        // A pipeline is made anew each time: nothing of the broken one is used again.
        let ended = catch_unwind(AssertUnwindSafe(|| make().run(stop)));
        let reason = match ended {
            Ok(Ok(())) => return,
            Ok(Err(RunError::Sink(fence @ SinkError::Fenced { .. }))) => {
                stand_by(name, &fence, &make, (status, stop));
                if stop.is_requested() {
                    return;
                }
                continue;
            }
            Ok(Err(error)) => describe(&error),
            Err(_) => "a stage panicked; its message is above".to_owned(),
        };
        tracing::error!(pipeline = name, reason, "starting again from the checkpoint");
        *status.last_error.lock() = Some(reason);
        Status::count(&status.restarts, 1);
        if started.elapsed() > WELL_AFTER {
            backoff.reset();
        }
        let end = Instant::now() + backoff.delay();
        while Instant::now() < end {
            if stop.is_requested() {
                return;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

/// Leaves the source to the other process until that has been quiet for a while. An idle log looks
/// the same as a dead process. Then both deliver, and the first line decides again which of them
/// does.
fn stand_by(
    name: &str,
    fence: &SinkError,
    make: impl Fn() -> Pipeline,
    (status, stop): (&Status, &StopSignal),
) {
    tracing::warn!(pipeline = name, %fence, "standing by while another process delivers");
    Status::count(&status.fence.count, 1);
    *status.last_error.lock() = Some(fence.to_string());
    status.fence.stands_by.store(true, Ordering::Relaxed);
    let watch = || {
        let pipeline = make();
        let quiet = QUIET.max(pipeline.flush * 3);
        pipeline.stand_by(quiet, stop);
    };
    if catch_unwind(AssertUnwindSafe(watch)).is_err() {
        tracing::error!(pipeline = name, "the sink panicked while it was watched");
    }
    status.fence.stands_by.store(false, Ordering::Relaxed);
    *status.last_error.lock() = None;
}

fn describe(error: &RunError) -> String {
    stdx::Chain(error).to_string()
}
