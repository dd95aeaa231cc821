//! Runs a build of profiles again and again in a thread of its own, and keeps how the last one
//! went.
//!
//! The interval counts from the end of a build. The first build comes at once if there is no file,
//! else after an interval. After a query that failed (`ProfilesError::Query`) the next try comes
//! after a minute at most, as docs/operating/profiles.md promises.
//! Invariant: one build at a time. `stop` waits for the one under way. A build that panics ends the
//! thread, and `LastBuild` then stays as it was.
//! The fields of `BuildOutcome` go between processes as JSON: the binary's `profile_build.rs` finds
//! `error` and `profiles` by name, and `/status` shows all.
//! Refuses: to know where the reads come from; the build is a closure. `handle.rs` notices by
//! itself that the file was replaced.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;

use crate::builder::BuildSummary;
use crate::error::ProfilesError;

/// How soon an engine that gave no rows is asked again: it may be down, or its table not made yet.
const QUERY_RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// The thread that builds.
pub struct BuildScheduler {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    last: Arc<LastBuild>,
}

/// How the last build went, shared between the thread that builds and those who ask.
#[derive(Debug, Default)]
pub struct LastBuild(Mutex<Option<Ended>>);

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
    /// Why it failed; none when it did not.
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
        let last = Arc::<LastBuild>::default();
        let shared = Arc::clone(&last);
        let work = move || {
            let mut wait = if has_file { interval } else { Duration::ZERO };
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                let result = build();
                wait = next_wait(interval, &result);
                shared.keep(begun, result);
            }
        };
        let thread = std::thread::Builder::new().name("learn".to_owned()).spawn(work)?;
        Ok(Self { stop, thread, last })
    }

    /// How the last build went, at any time.
    pub fn last_build(&self) -> Arc<LastBuild> {
        Arc::clone(&self.last)
    }

    /// Ends the thread after the build it is at.
    pub fn stop(self) {
        drop(self.stop);
        // A build that panicked said so itself.
        let _ = self.thread.join();
    }
}

impl LastBuild {
    /// How the last build went; none before the first has ended.
    pub fn outcome(&self) -> Option<BuildOutcome> {
        let last = self.0.lock();
        let ended = last.as_ref()?;
        Some(BuildOutcome {
            age_s: ended.at.elapsed().as_secs(),
            seconds: ended.took.as_secs_f64(),
            profiles: ended.result.as_ref().ok().map(|built| built.rows),
            error: ended.result.as_ref().err().cloned(),
        })
    }

    fn keep(&self, begun: Instant, result: Result<BuildSummary, ProfilesError>) {
        let result = result.map_err(|error| stdx::Chain(&error).to_string());
        match &result {
            Ok(built) => tracing::debug!(profiles = built.rows, "profiles built"),
            Err(error) => tracing::warn!(%error, "profiles not built"),
        }
        let at = Instant::now();
        *self.0.lock() = Some(Ended { at, took: at - begun, result });
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
