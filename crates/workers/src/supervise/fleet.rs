//! The processes of a pool, as their supervisor knows them.
//!
//! Three kinds: keepers hold what is preloaded, each generation has a parent that holds the app
//! (none where workers are not forked), workers answer. A process is a `Member` once it has said
//! hello.

use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use tokio::net::unix::OwnedWriteHalf;

use crate::memory::Memory;
use crate::process::Process;
use crate::status::{Incident, Reason};
use crate::wire::Do;

/// A process that has said hello.
#[derive(Debug)]
pub(super) struct Member {
    pub process: Process,
    writer: OwnedWriteHalf,
    /// Pings sent so far: the number of the last one.
    pub asked: u64,
    /// The last ping that was answered, or need not be.
    pub answered: u64,
    /// When its connection was closed.
    pub closed: Option<Instant>,
}

impl Member {
    pub(super) fn new(process: Process, writer: OwnedWriteHalf) -> Self {
        Self { process, writer, asked: 0, answered: 0, closed: None }
    }

    /// Tells it something; a process that takes nothing any more is found out by its silence.
    pub(super) fn tell(&self, what: Do) {
        if let Err(error) = self.writer.try_write(&what.line()) {
            tracing::debug!(pid = self.process.pid(), %error, "a process cannot be told anything");
        }
    }

    pub(super) fn ping(&mut self) -> u64 {
        self.asked += 1;
        self.tell(Do::Ping { n: self.asked });
        self.asked
    }

    /// Pings that it has not answered.
    pub(super) fn unanswered(&self) -> u64 {
        self.asked - self.answered
    }
}

/// Holds what is preloaded.
#[derive(Debug)]
pub(super) struct PreloadProcess {
    /// What we started; it becomes the keeper, or starts it.
    pub child: Process,
    pub member: Option<Member>,
    pub stage: HolderStage,
    pub began: Instant,
    pub began_at: SystemTime,
    pub files: Vec<PathBuf>,
    pub seconds: Option<f64>,
    /// Why it could not, in its own words.
    pub failed: Option<Incident>,
}

/// One import of the app.
#[derive(Debug)]
pub(super) struct Generation {
    /// None where workers are not forked.
    pub keeper: Option<u64>,
    pub member: Option<Member>,
    pub stage: HolderStage,
    pub began: Instant,
    pub began_at: SystemTime,
    pub files: Vec<PathBuf>,
    pub kind: Option<String>,
    pub failed: Option<Incident>,
}

/// How far a keeper or a parent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HolderStage {
    /// A generation whose keeper has not loaded yet.
    Waiting,
    /// It loads or imports, and may take until then.
    Loading(Instant),
    /// It can fork.
    Ready,
    /// Its process has ended.
    Lost,
    /// It was told to end, and may take until then.
    Leaving(Instant),
}

/// Answers requests.
#[derive(Debug)]
pub(super) struct Worker {
    pub generation: u64,
    /// What we started, where it was not forked.
    pub child: Option<Process>,
    pub member: Option<Member>,
    pub stage: Stage,
    pub began: Instant,
    pub began_at: SystemTime,
    pub socket: Option<PathBuf>,
    /// Why it is to be replaced, or was ended.
    pub reason: Option<Reason>,
    /// Why it could not start, in its own words or ours.
    pub failed: Option<Incident>,
    pub memory: Option<Memory>,
    /// The last exception that its app let out.
    pub error: Option<Incident>,
    /// The ping whose answer shows that broken connections were not its end.
    pub suspect_until: Option<u64>,
    /// When a request that nobody waits for has taken too long.
    pub abandoned_until: Option<Instant>,
    /// Whether it leads a process group of its own.
    pub leads: bool,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It starts, or answers the canary, and may take until then.
    Starting(Instant),
    /// It is lent.
    Serving(Instant),
    /// It finishes what it has, and may take until then.
    Draining(Instant),
    /// It was told to leave, and may take until then.
    Leaving(Instant),
    /// It was told so by a signal.
    Terminating(Instant),
    /// It says where it hangs, and is killed then.
    Dying(Instant),
    /// It was killed.
    Killed,
}

impl Worker {
    pub(super) fn process(&self) -> Option<&Process> {
        self.member.as_ref().map(|member| &member.process).or(self.child.as_ref())
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Starting(_))
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.stage, Stage::Serving(_))
    }
}

/// A process that has ended, until it is known how.
#[derive(Debug)]
pub(super) struct Dead {
    pub who: Who,
    /// Who forked it and is to say how it ended; none when that was us.
    pub forked_by: Option<Who>,
    pub pid: i32,
    /// The process that its last lines are kept for.
    pub printed_by: Option<i32>,
    pub at: Instant,
    /// Why we ended it.
    pub reason: Option<Reason>,
    /// Whether it had been in service.
    pub served: bool,
    pub requests: u64,
    /// What was wrong in its own words or ours.
    pub failed: Option<Incident>,
}

/// Which process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Preload(u64),
    Parent(u64),
    Worker(u64),
}

impl Who {
    pub(super) fn words(self) -> String {
        match self {
            Self::Preload(_) => "the keeper".to_owned(),
            Self::Parent(generation) => format!("the parent of generation {generation}"),
            Self::Worker(id) => format!("worker {id}"),
        }
    }
}
