//! Names what can be done about the processes of a pool: the words between decisions and execution.
//!
//! Rules, deadlines, messages and commands return actions; `execute.rs` does them.
//! Invariant: plain data that names processes by their numbers, so a test can compare it. An action
//! may come too late: `execute.rs` skips one whose worker has ended.
//! Also here: [`Complaint`], an incident before it has a date.

use std::path::PathBuf;
use std::time::Instant;

use super::fleet::{LoadedFiles, ProcessName};
use super::generations::ReloadRequest;
use crate::pool::Availability;
use crate::status::{Incident, Reason};

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Begin a new import of the app; a candidate that there is gives way.
    Begin(ReloadRequest),
    /// Have the preload process fork the parent of a generation.
    AskForParent { generation: u64 },
    /// Put a candidate in service: its first worker has answered.
    Promote { generation: u64 },
    /// Give a generation up that cannot serve.
    FailGeneration { generation: u64, complaint: Complaint },
    /// Give a candidate up: the pool ends.
    GiveUp { generation: u64 },
    /// Kill the parent of a generation that was given up while it imports.
    StopImport { generation: u64 },
    /// Forget a generation without process and workers.
    Forget { generation: u64 },

    /// Start a worker.
    StartWorker { generation: u64 },
    /// Send the canary request to a worker that listens.
    AskCanary { worker: u64, deadline: Instant },
    /// Lend a worker that has answered the canary.
    PutInService { worker: u64 },
    /// Note that a worker has answered something.
    NoteAnswer { worker: u64 },
    /// Count as over what a worker had on broken connections: it has outlived them.
    ClearSuspicion { worker: u64 },
    /// Count one request as over that nobody waits for.
    EndAbandoned { worker: u64 },
    /// Mark a worker for replacement.
    Wear { worker: u64, reason: Reason },
    /// Retire a worker before its successor starts, for want of memory.
    MakeRoom { worker: u64 },
    /// Lend a worker no more, and let it finish.
    Retire { worker: u64, reason: Reason },
    /// Have a retired worker leave that has nothing left to do.
    Leave { worker: u64 },
    /// Have a worker say where it hangs, and kill it; let its other requests finish first.
    Interrupt { worker: u64, complaint: Complaint },
    /// Count as over what nobody waits for.
    ForgetAbandoned { worker: u64 },
    /// Send SIGTERM to a worker that does not leave.
    Terminate { worker: u64 },
    /// Kill a worker; `complaint` when that is news.
    Kill { worker: u64, reason: Reason, complaint: Option<Complaint> },

    /// Note why a preload process or a parent is killed that took too long.
    FailLoading { process: ProcessName, complaint: Complaint },
    /// Have a preload process or a parent end.
    Dismiss(ProcessName),
    /// Send SIGKILL.
    KillProcess(ProcessName),
    /// Have a process show that it lives.
    Ping(ProcessName),

    /// Watch files for changes.
    WatchFiles(LoadedFiles),
    /// Watch files that are not loaded, but whose change may mend what failed.
    WatchSuspects(Vec<PathBuf>),

    /// Forget the starts that failed: a later one was sound.
    Recover,
    /// Tell requests whether waiting makes sense.
    SetAvailability(Availability),
}

/// What went wrong, before it is dated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    /// As in [`Incident`].
    pub stage: &'static str,
    /// In one line.
    pub text: String,
}

impl From<Complaint> for Incident {
    fn from(complaint: Complaint) -> Self {
        Self::new(complaint.stage, complaint.text)
    }
}
