//! Builds profiles on a schedule, from the journal or by a query in a sink's engine; the file that
//! results is swapped in by its watcher, like any other that appears there.
//!
//! The record process does it where there is one, which has the drivers and no reader to hold up;
//! the edge process does it otherwise.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pipeline::SinkPlan;
use profiles::{Built, ProfilesError, UserKey};
use serde_json::{Value, json};

use crate::config::Plan;
use crate::ports::user_key;
use crate::record::Watch;

/// Everything that a build needs.
pub(crate) struct Build {
    profiles: profiles::config::Plan,
    key: UserKey,
    reads: Reads,
}

/// Where the reads are.
enum Reads {
    Journal(PathBuf),
    Query { url: String, root: PathBuf, text: String },
}

impl Build {
    /// What the configuration says; nothing when it has no profiles, or nothing to build them from.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let profiles = plan.profiles.clone()?;
        let journal = plan.journal.as_ref();
        let key = user_key(journal.and_then(|journal| journal.user_key.as_deref()));
        let reads = match &profiles.query {
            Some(text) => {
                let sink = query_sink(&profiles, &plan.events.sinks).ok()?;
                let (url, root) = (sink.url.clone(), plan.root.clone());
                Reads::Query { url, root, text: text.clone() }
            }
            None => Reads::Journal(journal?.options.dir.clone()),
        };
        Some(Self { profiles, key, reads })
    }

    /// Builds the file.
    ///
    /// # Errors
    /// When it could not be built; it is then as it was.
    pub(crate) fn run(&self) -> Result<Built, ProfilesError> {
        match &self.reads {
            Reads::Journal(dir) => profiles::rebuild_from_journal(dir, &self.profiles, &self.key),
            Reads::Query { url, root, text } => {
                profiles::rebuild_from_query(&self.profiles, &self.key, |take| {
                    sinks::rows(url, root, text, take)
                })
            }
        }
    }
}

/// The sink whose engine runs the query of `profiles`.
///
/// # Errors
/// Why there is none, for the one who wrote the configuration.
pub(crate) fn query_sink<'p>(
    profiles: &profiles::config::Plan,
    sinks: &'p [SinkPlan],
) -> Result<&'p SinkPlan, String> {
    let sink = match (&profiles.sink, sinks) {
        (Some(name), _) => sinks
            .iter()
            .find(|sink| sink.name == *name)
            .ok_or_else(|| format!("`{name}` is no [[sink]]"))?,
        (None, [only]) => only,
        (None, []) => return Err("is missing, and there is no [[sink]] to run `query` in".into()),
        (None, _) => return Err("is missing; name the [[sink]] that `query` runs in".into()),
    };
    if !sinks::runs_queries(&sink.url) {
        let name = &sink.name;
        return Err(format!("`{name}` runs no query; SQLite, PostgreSQL, MariaDB and MySQL do"));
    }
    Ok(sink)
}

/// The outcome of the last build.
#[derive(Debug)]
pub(crate) enum Learned {
    /// Of this process.
    Here(Mutex<Option<Outcome>>),
    /// Of the record process, as that says.
    There(Arc<Watch>),
}

impl Default for Learned {
    fn default() -> Self {
        Self::Here(Mutex::default())
    }
}

/// How soon an engine that gave no rows is asked again: it may be down, or its table not made yet.
const AGAIN: Duration = Duration::from_secs(60);

/// How a build went.
#[derive(Debug)]
pub(crate) struct Outcome {
    ended: Instant,
    seconds: f64,
    result: Result<Built, String>,
}

impl Outcome {
    fn of(result: Result<Built, ProfilesError>, begun: Instant) -> Self {
        let result = result.map_err(|error| stdx::Chain(&error).to_string());
        match &result {
            Ok(built) => tracing::debug!(profiles = built.rows, "profiles built"),
            Err(error) => tracing::warn!(%error, "profiles not built"),
        }
        let ended = Instant::now();
        Self { ended, seconds: (ended - begun).as_secs_f64(), result }
    }
}

impl Learned {
    /// For `/status`.
    pub(crate) fn status(&self) -> Value {
        let outcome = match self {
            Self::Here(outcome) => outcome.lock(),
            Self::There(watch) => return watch.learned(),
        };
        match &*outcome {
            None => Value::Null,
            Some(outcome) => json!({
                "age_s": outcome.ended.elapsed().as_secs(),
                "seconds": outcome.seconds,
                "profiles": outcome.result.as_ref().ok().map(|built| built.rows),
                "error": outcome.result.as_ref().err(),
            }),
        }
    }

    /// What is wrong, if anything is.
    pub(crate) fn alarm(&self) -> Option<String> {
        let status = self.status();
        Some(format!("profile build: {}", status["error"].as_str()?))
    }

    /// Profiles of the last good build.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.status()["profiles"].as_u64()
    }

    fn keep(&self, outcome: Outcome) {
        if let Self::Here(last) = self {
            *last.lock() = Some(outcome);
        }
    }
}

/// The thread that builds.
pub(crate) struct Learner {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    learned: Arc<Learned>,
}

impl Learner {
    /// Starts the thread when the configuration names a schedule.
    pub(crate) fn start(plan: &Plan) -> Option<Self> {
        let build = Build::of(plan)?;
        let every = build.profiles.every?;
        let (stop, stopped) = channel();
        let learned = Arc::new(Learned::default());
        let told = Arc::clone(&learned);
        let work = move || {
            // A machine that has no profiles yet need not wait for its first.
            let mut wait = if build.profiles.file.exists() { every } else { Duration::ZERO };
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = every;
                let begun = Instant::now();
                let result = build.run();
                if let Err(ProfilesError::Query { .. }) = result {
                    wait = every.min(AGAIN);
                }
                told.keep(Outcome::of(result, begun));
            }
        };
        let thread = std::thread::Builder::new().name("learn".to_owned()).spawn(work).ok()?;
        Some(Self { stop, thread, learned })
    }

    /// The outcome of the last build.
    pub(crate) fn learned(&self) -> Arc<Learned> {
        Arc::clone(&self.learned)
    }

    /// Ends the thread after the build it is at.
    pub(crate) fn stop(self) {
        drop(self.stop);
        // A build that panicked said so itself.
        let _ = self.thread.join();
    }
}
