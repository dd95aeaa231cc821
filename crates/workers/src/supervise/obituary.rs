//! Explains how a process ended, and words it for people.
//!
//! Invariant: each end has one [`Reason`]. What we did to a process explains its end before any
//! signal or exit status does. SIGKILL counts as out of memory if the kernel has killed for that
//! since the last announced end. It need not have been the same process.
//! Also here: the incident of an end, with the last lines, and where a worker hung when it was
//! asked. That is found by the words of Python's `faulthandler`, within the lines that `output.rs`
//! keeps.
//! Refuses: to wait for an exit status (`reaper.rs`), and to log (`report.rs`).

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use rustix::process::Signal;

use super::fleet::ProcessName;
use crate::process::end_in_words;
use crate::status::{Incident, Reason};

const SIGBUS: i32 = Signal::BUS.as_raw();
const SIGKILL: i32 = Signal::KILL.as_raw();

/// What to do about too little shared memory.
pub(super) const SHM_HINT: &str = "give the container more: `--shm-size=1g` (docker), or a \
                                   memory-backed `emptyDir` at /dev/shm (Kubernetes)";

/// A process that has ended, until it is known how.
#[derive(Debug)]
pub(super) struct Dead {
    pub name: ProcessName,
    /// The process that forked it and is to report how it ended; none when we started it.
    pub forked_by: Option<ProcessName>,
    pub pid: i32,
    /// The process that its last lines are kept for.
    pub printed_by: Option<i32>,
    pub at: Instant,
    /// Why we ended it.
    pub reason: Option<Reason>,
    /// Requests that it answered; none when it was never in service.
    pub answered: Option<u64>,
    /// What was wrong, in its own words or ours.
    pub failed: Option<Incident>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub reason: Reason,
    /// Continues the name of the process: `ended with status 3`.
    pub text: String,
    /// Memory was gone that the process had mapped.
    pub is_bus_error: bool,
}

impl Dead {
    /// Explains the end. `status` is none when nobody can tell; `is_out_of_memory` says that the
    /// kernel has killed a process for want of memory since the last end.
    pub(super) fn ending(&self, status: Option<ExitStatus>, is_out_of_memory: bool) -> Ending {
        let signal = status.and_then(|status| status.signal());
        let unknown = || "ended, nobody knows how: its parent had ended before".to_owned();
        let text = status.map_or_else(unknown, end_in_words);
        let (reason, text) = match (self.reason, signal) {
            (Some(reason), _) => (reason, text),
            (None, Some(SIGKILL)) if is_out_of_memory => {
                let text = "was killed by the kernel, which was out of memory (OOM)".to_owned();
                (Reason::Oom, text)
            }
            (None, Some(SIGKILL)) => (Reason::Signal, format!("{text} from outside")),
            (None, Some(_)) => (Reason::Signal, text),
            (None, None) if self.answered.is_none() => (Reason::Boot, text),
            (None, None) if status.is_none() => (Reason::Unknown, text),
            (None, None) => (Reason::Exit, text),
        };
        Ending { reason, text, is_bus_error: signal == Some(SIGBUS) }
    }

    /// What people are told of an end that is news; `output` is what the process printed last.
    pub(super) fn incident(self, ending: &Ending, output: Vec<String>) -> Incident {
        let Ending { reason, text, is_bus_error } = ending;
        let stage = if self.answered.is_some() { "run" } else { "boot" };
        let name = self.name;
        let mut incident =
            self.failed.unwrap_or_else(|| Incident::new(stage, format!("{name} {text}")));
        if *is_bus_error {
            incident.hint = Some(format!("if it shares tensors by /dev/shm, {SHM_HINT}"));
        }
        if incident.stage == "canary" && *reason == Reason::Boot {
            incident.reason = format!("{}; {name} {text}", incident.reason);
        }
        if *reason == Reason::Timeout {
            incident.traceback = where_it_hung(&output);
        }
        incident.output = output;
        incident
    }
}

/// What Python printed when it was asked.
fn where_it_hung(output: &[String]) -> Option<String> {
    let begins =
        |line: &String| line.starts_with("Thread 0x") || line.starts_with("Current thread");
    output.iter().position(begins).map(|at| output[at..].join("\n"))
}

#[cfg(test)]
mod tests;
