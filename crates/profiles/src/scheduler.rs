//! Runs a build of profiles again and again in a thread of its own, and keeps how the last one
//! went.
//!
//! The interval counts from the end of a build. The first build comes at once if there is no file,
//! else after an interval. After a query that failed (`ProfilesError::Query`) the next try comes
//! after a minute at most, as docs/operating/profiles.md promises.
//! Invariant: one build at a time. `stop` waits for the one under way, but not for long, since a
//! build may be cut off at any moment. One that panics has failed, and the next comes in its time.
//! The fields of `BuildOutcome` go between processes as JSON: the binary's `profile_build.rs` finds
//! `error` and `profiles` by name, and `/status` shows all.
//! Refuses: to know where the reads come from; the build is a closure. `handle.rs` notices by
//! itself that the file was replaced.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;

use crate::builder::BuildSummary;
use crate::error::ProfilesError;

/// How soon an engine that gave no rows is asked again: it may be down, or its table not made yet.
const QUERY_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// How long a stop waits for the build under way, whose query may have no end.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A build that takes longer than this, and longer than the interval, may hang.
const USUAL_MAX: Duration = Duration::from_secs(60);

/// The thread that builds.
pub struct BuildScheduler {
    stop: Sender<()>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
    last: Arc<LastBuild>,
}

/// How the last build went, shared between the thread that builds and those who ask.
#[derive(Debug, Default)]
pub struct LastBuild {
    last: Mutex<Option<Ended>>,
    /// When the build under way began, and after which time it is late.
    under_way: Mutex<Option<(Instant, Duration)>>,
}

/// A build that ended.
#[derive(Debug)]
struct Ended {
    at: Instant,
    took: Duration,
    result: Result<BuildSummary, String>,
}

/// How a build went, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildOutcome {
    /// Seconds since it ended.
    pub age_s: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Profiles in the file; none when the build failed.
    pub profiles: Option<u64>,
    /// Why it failed, or that the next one takes too long; none when all is well.
    pub error: Option<String>,
}

impl BuildScheduler {
    /// Starts a thread that calls `build` every `interval`. The first call comes at once when
    /// `has_file` is false: a machine without profiles need not wait for its first.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        interval: Duration,
        has_file: bool,
        build: impl Fn() -> Result<BuildSummary, ProfilesError> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let (ending, ended) = channel();
        let last = Arc::<LastBuild>::default();
        let shared = Arc::clone(&last);
        let work = move || {
            let mut wait = if has_file { interval } else { Duration::ZERO };
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                *shared.under_way.lock() = Some((begun, interval.max(USUAL_MAX)));
                // What is built is a file of its own until it is whole.
                let result = catch_unwind(AssertUnwindSafe(&build));
                let result = result.unwrap_or(Err(ProfilesError::Panicked));
                *shared.under_way.lock() = None;
                wait = next_wait(interval, &result);
                shared.keep(begun, result);
            }
            drop(ending);
        };
        std::thread::Builder::new().name("learn".to_owned()).spawn(work)?;
        Ok(Self { stop, ended, last })
    }

    /// How the last build went, at any time.
    pub fn last_build(&self) -> Arc<LastBuild> {
        Arc::clone(&self.last)
    }

    /// Ends the thread after the build it is at, and does not wait long for that. A thread that is
    /// left ends with the process.
    pub fn stop(self) {
        drop(self.stop);
        if self.ended.recv_timeout(STOP_MAX) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("a build of profiles is cut off; the file stays as it is");
        }
    }
}

impl LastBuild {
    /// How the last build went; none before the first has ended.
    pub fn outcome(&self) -> Option<BuildOutcome> {
        let last = self.last.lock();
        let late = self.late();
        let of_late = late.map(|took| format!("one has been under way for {} s", took.as_secs()));
        let Some(ended) = &*last else {
            let seconds = late?.as_secs_f64();
            return Some(BuildOutcome { age_s: 0, seconds, profiles: None, error: of_late });
        };
        Some(BuildOutcome {
            age_s: ended.at.elapsed().as_secs(),
            seconds: ended.took.as_secs_f64(),
            profiles: ended.result.as_ref().ok().map(|built| built.rows),
            error: of_late.or_else(|| ended.result.as_ref().err().cloned()),
        })
    }

    /// How long the build under way has taken, if that is longer than builds should.
    fn late(&self) -> Option<Duration> {
        let (begun, most) = (*self.under_way.lock())?;
        Some(begun.elapsed()).filter(|took| *took > most)
    }

    fn keep(&self, begun: Instant, result: Result<BuildSummary, ProfilesError>) {
        let result = result.map_err(|error| stdx::Chain(&error).to_string());
        match &result {
            Ok(built) => tracing::debug!(profiles = built.rows, "profiles built"),
            Err(error) => tracing::warn!(%error, "profiles not built"),
        }
        let at = Instant::now();
        *self.last.lock() = Some(Ended { at, took: at - begun, result });
    }
}

/// How long to wait after a build.
fn next_wait(interval: Duration, result: &Result<BuildSummary, ProfilesError>) -> Duration {
    match result {
        Err(ProfilesError::Query { .. }) => interval.min(QUERY_RETRY_INTERVAL),
        _ => interval,
    }
}

#[cfg(test)]
mod tests;
