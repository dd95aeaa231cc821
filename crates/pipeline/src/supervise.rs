//! Starts a pipeline again from the checkpoint whenever it fails, panics included.
//!
//! Source 001 stopped instead, for fear of corrupt data; here the transaction makes it safe:
//! whatever a failed pipeline had in memory was not committed, and is read again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stdx::Backoff;

use crate::error::RunError;
use crate::run::{Pipeline, Stop};
use crate::status::Status;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A pipeline that ran this long is taken to have been well.
const WELL_AFTER: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);

/// Runs pipelines that `make` makes, one after the other, until one ends as it should or `stop`
/// is told; `name` stands in messages.
pub fn supervise(name: &str, make: impl Fn() -> Pipeline, status: &Arc<Status>, stop: &Stop) {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, u64::from(std::process::id()));
    loop {
        let started = Instant::now();
        // A pipeline is made anew each time: nothing of the broken one is used again.
        let ended = catch_unwind(AssertUnwindSafe(|| make().run(stop)));
        let cause = match ended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => describe(&error),
            Err(_) => "a stage panicked; its message is above".to_owned(),
        };
        tracing::error!(pipeline = name, cause, "starting again from the checkpoint");
        *status.last_error.lock() = Some(cause);
        Status::count(&status.restarts, 1);
        if started.elapsed() > WELL_AFTER {
            backoff.reset();
        }
        let end = Instant::now() + backoff.delay();
        while Instant::now() < end {
            if stop.is_told() {
                return;
            }
            std::thread::sleep(GLANCE);
        }
    }
}

fn describe(error: &RunError) -> String {
    stdx::Chain(error).to_string()
}
