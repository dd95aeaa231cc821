//! Defines what is known of each process of a pool: plain data, without handles.
//!
//! A preload process holds what is preloaded. Each generation, which is one import of the app, has
//! a parent that holds the app. It has none where workers import the app themselves. Workers answer
//! requests.
//! Invariant: in [`LoadStage`] and [`WorkerStage`] each stage that must end carries its deadline,
//! except `Waiting` and `Killed`. `deadlines.rs` enforces it and `report.rs` words it; both have an
//! arm for all other stages, so a new one needs a look there.
//! A [`Contact`] is set by `State::join`. A parent's outlives its process until the generation is
//! forgotten.
//! Also here: [`ProcessName`], whose text stands in log lines and incidents, [`StartTime`] and
//! [`LoadedFiles`]. Refuses: signals and sockets (`processes.rs`).

use std::fmt;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use super::timeouts::LAST_WORDS_TIMEOUT;
use crate::memory::Memory;
use crate::status::{Incident, Reason};

/// Which process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ProcessName {
    /// The preload process of this number.
    Preload(u64),
    /// The parent of this generation.
    Parent(u64),
    /// The worker of this number.
    Worker(u64),
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preload(_) => f.write_str("the preload process"),
            Self::Parent(generation) => write!(f, "the parent of generation {generation}"),
            Self::Worker(id) => write!(f, "worker {id}"),
        }
    }
}

/// When something began, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartTime {
    /// For ages and deadlines.
    pub instant: Instant,
    /// To compare with the times of files: one that is written later may have been loaded in
    /// another version.
    pub date: SystemTime,
}

impl StartTime {
    /// A start at `instant`, which is the present.
    pub(super) fn dated(instant: Instant) -> Self {
        Self { instant, date: SystemTime::now() }
    }
}

/// Files that a process has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadedFiles {
    pub files: Vec<PathBuf>,
    /// They were loaded after this.
    pub since: SystemTime,
    /// They stay loaded while the app is imported anew.
    pub by_preload: bool,
}

/// The control connection of a process that has said hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contact {
    pub pid: i32,
    /// Pings sent so far: the number of the last one.
    pub pings: u64,
    /// The last ping that was answered, or need not be.
    pub answered: u64,
    /// When the process closed the connection.
    pub closed: Option<Instant>,
}

impl Contact {
    pub(super) fn new(pid: i32) -> Self {
        Self { pid, pings: 0, answered: 0, closed: None }
    }

    /// Pings that it has not answered.
    pub(super) fn unanswered(&self) -> u64 {
        self.pings - self.answered
    }
}

/// Holds what is preloaded.
#[derive(Debug)]
pub(super) struct PreloadProcess {
    /// The process that we started; it becomes the preload process, or starts it.
    pub child_pid: i32,
    pub contact: Option<Contact>,
    pub stage: LoadStage,
    pub began: StartTime,
    pub files: Vec<PathBuf>,
    /// Why it could not load.
    pub failed: Option<Incident>,
}

impl PreloadProcess {
    pub(super) fn new(child_pid: i32, began: StartTime, deadline: Instant) -> Self {
        Self {
            child_pid,
            contact: None,
            stage: LoadStage::Loading(deadline),
            began,
            files: Vec::new(),
            failed: None,
        }
    }

    /// The process that loads: another than we started, where an interpreter's wrapper started it.
    pub(super) fn pid(&self) -> i32 {
        self.contact.map_or(self.child_pid, |contact| contact.pid)
    }
}

/// One import of the app.
#[derive(Debug)]
pub(super) struct Generation {
    /// None where workers are not forked.
    pub preload: Option<u64>,
    pub contact: Option<Contact>,
    pub stage: LoadStage,
    pub began: Instant,
    /// When its parent or its workers began to import.
    pub import_began: SystemTime,
    pub files: Vec<PathBuf>,
    /// What kind of app was found.
    pub kind: Option<String>,
    /// Why the app could not be imported.
    pub failed: Option<Incident>,
    /// It is not going to serve: what belongs to it is to end.
    pub is_given_up: bool,
}

impl Generation {
    /// An import that waits for `preload`, or without one is left to the workers.
    pub(super) fn new(preload: Option<u64>, began: StartTime) -> Self {
        let stage = if preload.is_some() { LoadStage::Waiting } else { LoadStage::Ready };
        Self {
            preload,
            contact: None,
            stage,
            began: began.instant,
            import_began: began.date,
            files: Vec::new(),
            kind: None,
            failed: None,
            is_given_up: false,
        }
    }
}

/// How far a preload process or a parent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadStage {
    /// A generation whose preload process has not loaded yet.
    Waiting,
    /// It loads or imports, until this deadline.
    Loading(Instant),
    /// It can fork.
    Ready,
    /// Its process has ended.
    Lost,
    /// It was told to end, until this deadline.
    Leaving(Instant),
}

impl LoadStage {
    pub(super) fn is_loading(self) -> bool {
        matches!(self, Self::Loading(_))
    }

    pub(super) fn is_leaving(self) -> bool {
        matches!(self, Self::Leaving(_))
    }

    /// Whether its deadline is over.
    pub(super) fn is_overdue(self, now: Instant) -> bool {
        matches!(self, Self::Loading(deadline) | Self::Leaving(deadline) if now > deadline)
    }
}

/// Answers requests.
#[derive(Debug)]
pub(super) struct Worker {
    pub generation: u64,
    /// The process that we started, where it was not forked.
    pub child_pid: Option<i32>,
    pub contact: Option<Contact>,
    pub stage: WorkerStage,
    pub began: StartTime,
    pub socket: Option<PathBuf>,
    /// Why it is to be replaced, or was ended.
    pub reason: Option<Reason>,
    /// Why it could not start or go on.
    pub failed: Option<Incident>,
    pub memory: Option<Memory>,
    /// The last exception that its app let out.
    pub error: Option<Incident>,
    /// Set when it broke off a connection, until it shows that it outlived that.
    pub suspicion: Option<Suspicion>,
    /// When a request that nobody waits for must have ended.
    pub abandoned_deadline: Option<Instant>,
    /// Whether it leads a process group, which ends with it.
    pub leads_group: bool,
    /// Whether it has said that the canary's connection has ended.
    pub has_ended_canary: bool,
}

/// What shows that a worker outlived a connection that it broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspicion {
    /// The ping that it has to answer.
    pub ping: u64,
    /// By then: one that hangs, or is stopped, never does.
    pub deadline: Instant,
}

impl Worker {
    pub(super) fn new(generation: u64, began: StartTime, deadline: Instant) -> Self {
        Self {
            generation,
            child_pid: None,
            contact: None,
            stage: WorkerStage::Starting(deadline),
            began,
            socket: None,
            reason: None,
            failed: None,
            memory: None,
            error: None,
            suspicion: None,
            abandoned_deadline: None,
            leads_group: false,
            has_ended_canary: false,
        }
    }

    /// Its process; none before a forked worker has said hello.
    pub(super) fn pid(&self) -> Option<i32> {
        self.contact.map(|contact| contact.pid).or(self.child_pid)
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.stage, WorkerStage::Starting(_))
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.stage, WorkerStage::Serving(_))
    }

    /// Whether it serves or is about to.
    pub(super) fn counts(&self) -> bool {
        self.is_starting() || self.is_serving()
    }

    /// Whether it finishes what it has.
    pub(super) fn is_draining(&self) -> bool {
        matches!(self.stage, WorkerStage::Draining(_) | WorkerStage::Leaving(_))
    }

    /// Whether it was killed, or is about to be.
    pub(super) fn is_doomed(&self) -> bool {
        matches!(self.stage, WorkerStage::Dying(_) | WorkerStage::Killed)
    }

    /// It did not start as it ought to: it may still say why, and is killed then.
    pub(super) fn fail_to_start(&mut self, incident: Incident, now: Instant) {
        self.reason = Some(Reason::Boot);
        self.failed = Some(incident);
        self.stage = WorkerStage::Dying(now + LAST_WORDS_TIMEOUT);
    }

    /// It is killed; what it said itself of the reason stays.
    pub(super) fn kill(&mut self, reason: Reason, incident: Option<Incident>) {
        self.reason = Some(reason);
        self.failed = self.failed.take().or(incident);
        self.stage = WorkerStage::Killed;
    }
}

/// How far a worker is; a stage that must end has its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerStage {
    /// It starts, or answers the canary.
    Starting(Instant),
    /// It is lent, since then.
    Serving(Instant),
    /// It is lent no more, and finishes what it has.
    Draining(Instant),
    /// It was told to leave.
    Leaving(Instant),
    /// It was told so by SIGTERM.
    Terminating(Instant),
    /// It says where it hangs, and is killed then.
    Dying(Instant),
    /// It was killed.
    Killed,
}
