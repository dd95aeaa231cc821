//! Builds profiles from the journal on a schedule; the file that results is swapped in by its
//! watcher, like any other that appears there.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::config::JournalPlan;
use crate::ports::user_key;

/// The outcome of the last build.
#[derive(Debug, Default)]
pub struct Learned(Mutex<Option<Outcome>>);

#[derive(Debug)]
struct Outcome {
    ended: Instant,
    seconds: f64,
    result: Result<profiles::Built, String>,
}

impl Learned {
    /// For `/status`.
    pub fn status(&self) -> Value {
        match &*self.0.lock() {
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
    pub fn alarm(&self) -> Option<String> {
        let outcome = self.0.lock();
        let error = outcome.as_ref()?.result.as_ref().err()?;
        Some(format!("profile build: {error}"))
    }

    /// Profiles of the last good build.
    pub fn rows(&self) -> Option<u64> {
        self.0.lock().as_ref()?.result.as_ref().ok().map(|built| built.rows)
    }
}

/// The thread that builds.
pub struct Learner {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    learned: Arc<Learned>,
}

impl Learner {
    /// Starts the thread when the configuration names a schedule.
    pub fn start(plan: &profiles::config::Plan, journal: &JournalPlan) -> Option<Self> {
        let every = plan.every?;
        let (stop, stopped) = channel();
        let learned = Arc::new(Learned::default());
        let told = Arc::clone(&learned);
        let (plan, dir) = (plan.clone(), journal.options.dir.clone());
        let key = user_key(journal.user_key.as_deref());
        let work = move || {
            // A machine that has no profiles yet need not wait for its first.
            let mut wait = if plan.file.exists() { every } else { Duration::ZERO };
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = every;
                let begun = Instant::now();
                let result = profiles::rebuild_from_journal(&dir, &plan, &key);
                let result = result.map_err(|error| stdx::Chain(&error).to_string());
                match &result {
                    Ok(built) => tracing::debug!(profiles = built.rows, "profiles built"),
                    Err(error) => tracing::warn!(%error, "profiles not built"),
                }
                let seconds = begun.elapsed().as_secs_f64();
                *told.0.lock() = Some(Outcome { ended: Instant::now(), seconds, result });
            }
        };
        let thread = std::thread::Builder::new().name("learn".to_owned()).spawn(work).ok()?;
        Some(Self { stop, thread, learned })
    }

    /// The outcome of the last build.
    pub fn learned(&self) -> Arc<Learned> {
        Arc::clone(&self.learned)
    }

    /// Ends the thread after the build it is at.
    pub fn stop(self) {
        drop(self.stop);
        // A build that panicked said so itself.
        let _ = self.thread.join();
    }
}
