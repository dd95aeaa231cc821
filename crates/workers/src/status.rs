//! Defines what is known of a pool, for people and programs: one document, [`Status`].
//!
//! It is made in `supervise/report.rs` after each event. `WorkerPool::status` adds what changes
//! with each loan: readiness, queue, requests, and whether a worker is free or busy. Also here:
//! [`Incident`], what went wrong, in one line by [`in_one_line`]; and [`Reason`], why a worker
//! ended.
//! Fields are keys of `/workers` and `/status`. The binary's `workers.rs` (`tidegate workers list`)
//! and `soak/src/workers` find them by name, and a renamed one shows as missing. They also compare
//! with the words of `state` and the names of [`Reason`], which are labels of metrics, too. In
//! `holders` they take the first for the preload process.
//! Python names most stages of an [`Incident`] (`Failure` of `python/tidegate/workers/failure.py`).
//! Invariant: plain data, but for `LastStatus`, which holds the last document behind a short lock.
//! Refuses: to decide anything.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::Serialize;

use crate::memory::Memory;

/// A pool as it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// `starting`, `serving`, `reloading`, `failing` or `ended`.
    pub state: &'static str,
    /// Which import of the app is in service; none before the first.
    pub generation: Option<u64>,
    /// How many workers there ought to be in service.
    pub planned: usize,
    /// Whether a worker has answered within the last 10 seconds.
    pub ready: bool,
    /// Requests that wait for a worker.
    pub queue: usize,
    /// Requests that workers have.
    pub in_flight: usize,
    /// What the interpreter calls itself.
    pub python: Option<String>,
    /// What kind of app it is.
    pub kind: Option<String>,
    /// How long the preload process took to load, in seconds.
    pub preload_s: Option<f64>,
    /// From the wish for the generation in service to its first answer, in seconds.
    pub reload_s: Option<f64>,
    /// Workers that ended since the start, by reason.
    pub restarts: BTreeMap<&'static str, u64>,
    /// What went wrong last.
    pub last_error: Option<Incident>,
    /// What an operator should look at.
    pub alarms: Vec<String>,
    /// Process numbers of the preload processes and the parents.
    pub holders: Vec<i32>,
    /// Workers, oldest first.
    pub workers: Vec<WorkerStatus>,
}

/// A worker as it stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkerStatus {
    /// Its number.
    pub id: u64,
    /// Its process; none before a forked worker has said hello.
    pub pid: Option<i32>,
    /// Which import of the app it has.
    pub generation: u64,
    /// `starting`, `free`, `busy` or `leaving`.
    pub state: &'static str,
    /// Requests answered.
    pub requests: u64,
    /// Requests that it has.
    pub in_flight: usize,
    /// Seconds since it was asked for.
    pub age_s: f64,
    /// Memory, in bytes; none until it was measured.
    pub memory: Option<Memory>,
    /// Seconds since it answered anything: a request, the canary, a ping.
    pub answered_s_ago: Option<f64>,
    /// Why it is to be replaced.
    pub leaving_reason: Option<&'static str>,
    /// The last exception that the app let out.
    pub last_error: Option<Incident>,
}

/// Something that went wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Incident {
    /// When: `start`, `config`, `preload`, `import`, `threads`, `fork`, `lifespan`, `listen`,
    /// `boot`, `serve`, `canary`, `run` or `request`.
    pub stage: String,
    /// In one line.
    pub reason: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Python's own words.
    pub traceback: Option<String>,
    /// What the process printed last.
    pub output: Vec<String>,
    /// When, in microseconds since the Unix epoch.
    pub unix_us: u64,
}

impl Incident {
    /// Something that goes wrong now.
    pub(crate) fn new(stage: &str, reason: String) -> Self {
        let (stage, unix_us) = (stage.to_owned(), stdx::unix_micros());
        Self { stage, reason, unix_us, ..Self::default() }
    }
}

/// An incident in one line: its stage, where `reason` does not begin with that word, and `reason`.
#[must_use]
pub fn in_one_line(stage: &str, reason: &str) -> String {
    if reason.starts_with(stage) { reason.to_owned() } else { format!("{stage}: {reason}") }
}

/// Why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It had its requests.
    Requests,
    /// It took too much memory.
    Memory,
    /// It was old.
    Age,
    /// Somebody asked for it.
    Command,
    /// A new import of the app took its place.
    Reload,
    /// A request took too long.
    Timeout,
    /// It was idle and did not answer.
    Silent,
    /// It did not come up.
    Boot,
    /// It ended by itself.
    Exit,
    /// A signal killed it.
    Signal,
    /// The kernel killed it for want of memory.
    Oom,
    /// Nobody knows: its parent had ended before it.
    Unknown,
    /// The pool ends.
    End,
}

impl Reason {
    /// Whether the pool meant the worker to end, so that its end is no news.
    pub(crate) fn is_planned(self) -> bool {
        matches!(
            self,
            Self::Requests | Self::Memory | Self::Age | Self::Command | Self::Reload | Self::End
        )
    }

    /// The word in metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Memory => "memory",
            Self::Age => "age",
            Self::Command => "command",
            Self::Reload => "reload",
            Self::Timeout => "timeout",
            Self::Silent => "silent",
            Self::Boot => "boot",
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Oom => "oom",
            Self::Unknown => "unknown",
            Self::End => "end",
        }
    }
}

/// The status as its supervisor published it last.
#[derive(Debug, Default)]
pub(crate) struct LastStatus(Mutex<Status>);

impl LastStatus {
    pub(crate) fn get(&self) -> Status {
        self.0.lock().clone()
    }

    pub(crate) fn set(&self, status: Status) {
        *self.0.lock() = status;
    }
}
