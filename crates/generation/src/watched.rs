//! Owns one watched file and the generation in use: load, swap, keep the last good, verify, roll
//! back.
//!
//! Reading is wait-free. `poll` and `verify` may be called from any thread; each is serialised by
//! its own lock. The state lock is never held during a load or a full check, so `status` waits for
//! neither.
//! Invariants: `current` is only ever replaced whole. Each `Watched` numbers its generations 1, 2,
//! 3 and gives no number twice. A rollback returns to the newest generation whose full check
//! passed, which stays in memory for that. Without one, none is in use.
//! A refused file is tried again unchanged after 30 s; `open_retrying` takes another time. One that
//! failed its full check is not tried again while it stays in place. A file that changes during its
//! load is refused, and so is one whose loader panics.
//! `serving/src/ranking/files.rs` and `serving/src/hot_swap.rs` rely on it that `poll` and `open`
//! load before they return. To `hot_swap.rs` any `problem` after `open` is a failed load.
//! A new field of `Status` is shown only where `tidegate/src/admin.rs` or `serving/src/status.rs`
//! names it.
//! Never here: how often files are looked at (`watcher.rs`), and what is loaded (`Load`).

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use stdx::Chain;

use crate::file_version::FileVersion;
use crate::load::{Failure, Load, Stop};
use crate::watcher::Poll;

/// How long a refused file is left alone before it is tried again unchanged. What refused it may
/// have been the machine (no descriptors, no memory, no permission) and not the file.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// One complete, validated, immutable build.
#[derive(Debug)]
pub struct Generation<T> {
    /// What the loader made of the file.
    pub value: T,
    /// 1 for the first generation of its [`Watched`], then rising.
    pub number: u64,
    /// When it was put to use, as a date for operators.
    pub loaded_at: SystemTime,
    /// As `loaded_at`, for its age.
    loaded: Instant,
    /// The file it came from.
    pub source: FileVersion,
}

/// A borrow of the generation in use that costs no reference count; hold it briefly.
pub type Guard<T> = arc_swap::Guard<Option<Arc<Generation<T>>>>;

/// What one poll did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The file is as it was, or is not due to be tried again.
    Unchanged,
    /// A new generation is in use; its number.
    Swapped(u64),
    /// The file is missing or was refused; the last good generation, if any, stays.
    Refused,
}

/// The last thing that went wrong with a file.
#[derive(Debug, Clone)]
pub struct FileProblem {
    /// The failure with its causes, on one line.
    pub message: String,
    /// When it happened.
    pub at: SystemTime,
}

/// What an operator asks about a watched file.
#[derive(Debug, Clone)]
pub struct Status {
    /// The file watched.
    pub path: PathBuf,
    /// Number of the generation in use; none before the first good file.
    pub generation: Option<u64>,
    /// When the generation in use was put to use.
    pub loaded_at: Option<SystemTime>,
    /// Time since the generation in use was put to use.
    pub age: Option<Duration>,
    /// Whether the generation in use has passed its full check.
    pub verified: bool,
    /// What is wrong with the file at present; none once it is good or unchanged again.
    pub problem: Option<FileProblem>,
    /// The last thing that ever went wrong, mended or not.
    pub last_problem: Option<FileProblem>,
    /// How often a file was missing, refused or rolled back since the start.
    pub failures: u64,
    /// How many of these were rollbacks after a failed full check.
    pub rollbacks: u64,
}

/// A file and the generation last built from it.
pub struct Watched<T> {
    path: PathBuf,
    loader: Box<dyn Load<T>>,
    retry_after: Duration,
    current: ArcSwapOption<Generation<T>>,
    /// Serialises polls.
    polling: Mutex<()>,
    /// Serialises full checks.
    verifying: Mutex<()>,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// Of the last generation.
    number: u64,
    /// The last file that was looked at.
    attempt: Option<Attempt>,
    /// The newest generation, until its full check.
    unverified: Option<Arc<Generation<T>>>,
    verified: Option<Arc<Generation<T>>>,
    problem: Option<FileProblem>,
    last_problem: Option<FileProblem>,
    failures: u64,
    rollbacks: u64,
}

/// A look at the file; `source` is none when there was no readable file.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    source: Option<FileVersion>,
    result: AttemptResult,
}

#[derive(Debug, Clone, Copy)]
enum AttemptResult {
    Accepted,
    Refused(Instant),
    RolledBack,
}

/// The file was replaced or written to between the first look at it and the last.
#[derive(Debug)]
struct ChangedWhileLoading;

impl fmt::Display for ChangedWhileLoading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the file changed while it was being loaded; it is tried again")
    }
}

impl std::error::Error for ChangedWhileLoading {}

impl<T: Send + Sync + 'static> Watched<T> {
    /// Returns the watched file after a first look at it. A missing or unfit file is no error
    /// here: there is no generation until a good file appears.
    pub fn open(path: &Path, loader: impl Load<T> + 'static) -> Self {
        Self::open_retrying(path, RETRY_AFTER, loader)
    }

    /// As [`Watched::open`], with the time after which a refused file is tried again unchanged.
    pub fn open_retrying(
        path: &Path,
        retry_after: Duration,
        loader: impl Load<T> + 'static,
    ) -> Self {
        let watched = Self {
            path: path.to_owned(),
            loader: Box::new(loader),
            retry_after,
            current: ArcSwapOption::empty(),
            polling: Mutex::new(()),
            verifying: Mutex::new(()),
            state: Mutex::new(State {
                number: 0,
                attempt: None,
                unverified: None,
                verified: None,
                problem: None,
                last_problem: None,
                failures: 0,
                rollbacks: 0,
            }),
        };
        watched.poll();
        watched
    }

    /// Returns the generation in use.
    pub fn current(&self) -> Option<Arc<Generation<T>>> {
        self.current.load_full()
    }

    /// Returns the generation in use without touching its reference count, for the hot path.
    pub fn peek(&self) -> Guard<T> {
        self.current.load()
    }

    /// Looks at the file; loads it and swaps it in if it is another one than was tried last.
    pub fn poll(&self) -> Polled {
        let _one_at_a_time = self.polling.lock();
        match FileVersion::at(&self.path) {
            Ok(source) if self.is_settled(Some(source)) => Polled::Unchanged,
            Ok(source) => self.try_file(source),
            Err(_) if self.is_settled(None) => Polled::Unchanged,
            Err(error) => self.refuse(None, &error),
        }
    }

    /// Runs the full check of the newest generation that still lacks it, if there is one; returns
    /// whether one was checked. A failed check brings the last good generation back.
    pub fn verify(&self, stop: &Stop) -> bool {
        let _one_at_a_time = self.verifying.lock();
        let Some(generation) = self.state.lock().unverified.clone() else {
            return false;
        };
        let result = caught(|| self.loader.verify(&generation.value, stop));
        if result.is_err() && stop.asked() {
            return false;
        }
        match result {
            Ok(()) => self.accept_for_good(generation),
            Err(failure) => self.roll_back(&generation, &failure),
        }
        true
    }

    /// Returns where the file stands.
    pub fn status(&self) -> Status {
        let state = self.state.lock();
        let current = self.current();
        let loaded_at = current.as_ref().map(|generation| generation.loaded_at);
        let age = current.as_ref().map(|generation| generation.loaded.elapsed());
        let verified = match (&current, &state.verified) {
            (Some(current), Some(verified)) => Arc::ptr_eq(current, verified),
            _ => false,
        };
        Status {
            path: self.path.clone(),
            generation: current.map(|generation| generation.number),
            loaded_at,
            age,
            verified,
            problem: state.problem.clone(),
            last_problem: state.last_problem.clone(),
            failures: state.failures,
            rollbacks: state.rollbacks,
        }
    }

    /// Returns whether the file at hand needs no try: it was decided on, or it is the file of the
    /// generation in use come back.
    fn is_settled(&self, source: Option<FileVersion>) -> bool {
        let mut state = self.state.lock();
        let in_use = self.peek().as_ref().map(|generation| generation.source);
        if let Some(attempt) = state.attempt.filter(|attempt| attempt.source == source) {
            return match attempt.result {
                AttemptResult::Accepted | AttemptResult::RolledBack => true,
                AttemptResult::Refused(at) => source.is_none() || at.elapsed() < self.retry_after,
            };
        }
        if let Some(source) = source.filter(|source| Some(*source) == in_use) {
            state.attempt = Some(Attempt { source: Some(source), result: AttemptResult::Accepted });
            state.problem = None;
            return true;
        }
        false
    }

    fn try_file(&self, source: FileVersion) -> Polled {
        let last = self.current();
        let last = last.as_ref().map(|generation| &generation.value);
        let value = match caught(|| self.loader.load(&self.path, last)) {
            Ok(value) => value,
            Err(failure) => return self.refuse(Some(source), &*failure),
        };
        if FileVersion::at(&self.path).ok() != Some(source) {
            return self.refuse(Some(source), &ChangedWhileLoading);
        }
        self.swap(value, source)
    }

    fn swap(&self, value: T, source: FileVersion) -> Polled {
        let mut state = self.state.lock();
        state.number += 1;
        let number = state.number;
        let (loaded_at, loaded) = (SystemTime::now(), Instant::now());
        let generation = Arc::new(Generation { value, number, loaded_at, loaded, source });
        state.unverified = Some(generation.clone());
        state.attempt = Some(Attempt { source: Some(source), result: AttemptResult::Accepted });
        state.problem = None;
        self.current.store(Some(generation));
        tracing::info!(path = %self.path.display(), number, "generation swapped in");
        Polled::Swapped(number)
    }

    fn refuse(
        &self,
        source: Option<FileVersion>,
        error: &(dyn std::error::Error + 'static),
    ) -> Polled {
        let message = Chain(error).to_string();
        let mut state = self.state.lock();
        if state.problem.as_ref().is_none_or(|problem| problem.message != message) {
            tracing::warn!(path = %self.path.display(), error = %message, "file refused");
        }
        state.attempt = Some(Attempt { source, result: AttemptResult::Refused(Instant::now()) });
        state.blame(message);
        Polled::Refused
    }

    fn accept_for_good(&self, generation: Arc<Generation<T>>) {
        let mut state = self.state.lock();
        state.forget_unverified(&generation);
        state.verified = Some(generation);
    }

    fn roll_back(&self, generation: &Arc<Generation<T>>, failure: &Failure) {
        let mut state = self.state.lock();
        state.forget_unverified(generation);
        let in_use = self.peek().as_ref().is_some_and(|current| Arc::ptr_eq(current, generation));
        let error = Chain(&**failure).to_string();
        tracing::error!(
            path = %self.path.display(), number = generation.number, in_use, error,
            "full check failed, generation rolled back"
        );
        state.rollbacks += 1;
        let newer = state.problem.take();
        state.blame(format!("full check of generation {}: {error}", generation.number));
        if in_use {
            self.current.store(state.verified.clone());
        } else {
            state.problem = newer;
        }
        if let Some(attempt) = &mut state.attempt
            && attempt.source == Some(generation.source)
        {
            attempt.result = AttemptResult::RolledBack;
        }
    }
}

impl<T: Send + Sync + 'static> Poll for Watched<T> {
    fn poll(&self) {
        Self::poll(self);
    }

    fn verify(&self, stop: &Stop) {
        Self::verify(self, stop);
    }
}

impl<T> State<T> {
    fn blame(&mut self, message: String) {
        let problem = FileProblem { message, at: SystemTime::now() };
        self.failures += 1;
        self.last_problem = Some(problem.clone());
        self.problem = Some(problem);
    }

    /// A newer generation may wait for its check by the time an older one's is done.
    fn forget_unverified(&mut self, checked: &Arc<Generation<T>>) {
        if self.unverified.as_ref().is_some_and(|waiting| Arc::ptr_eq(waiting, checked)) {
            self.unverified = None;
        }
    }
}

/// A loader that panics refuses its file; the polling thread serves other files too.
fn caught<R>(work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(described(&*panic).into()))
}

fn described(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the loader panicked: {}", text.unwrap_or("no message"))
}

#[cfg(test)]
mod tests;
