//! Names what stops a run: a target, a plan, connections that cannot be had, or a system call.
//!
//! The variants for target, look-up, plan and connection come before the first request of their
//! thread, and say what to change. `Descriptors` and `System` may also come in the middle of a run,
//! which then has no report.
//! `lab` passes the texts on as they are (`LabError::Load`), and the binary hints at the server's
//! port for `Connect` (`lab/load.rs`). While arguments are read, an error with an `io::Error` as
//! source ends the binary with code 1, any other with 2 (`lab/misuse.rs`).
//! Plain data. Never here: failures of single requests, which `report` counts.

use std::io;

/// A run that could not take place.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The text names no address: correct it.
    #[error("`{0}` is not a target; write host:port or unix:/path")]
    Target(String),
    /// The name has no address: correct it, or its entry.
    #[error("look `{address}` up")]
    Lookup {
        /// The name with its port.
        address: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The plan contradicts itself: correct it.
    #[error("plan of the load: {0}")]
    Plan(&'static str),
    /// Not one connection could be opened: start the server, or wait for it.
    #[error("connect to `{target}`")]
    Connect {
        /// Where the connections were to go.
        target: String,
        /// The last refusal.
        source: io::Error,
    },
    /// This process may not open as many connections: let it, or open fewer.
    #[error("too many open files: raise `ulimit -n`, or open fewer connections")]
    Descriptors,
    /// The system refused something the engine cannot do without.
    #[error("system call `{call}`")]
    System {
        /// The call.
        call: &'static str,
        /// Its refusal.
        source: io::Error,
    },
}

impl LoadError {
    /// Returns the refusal of a system call as an error.
    pub(crate) fn system(call: &'static str, source: io::Error) -> Self {
        match Self::is_of_descriptors(&source) {
            true => Self::Descriptors,
            false => Self::System { call, source },
        }
    }

    /// Returns whether a refusal comes from this process, or its machine, having too many open
    /// files: nothing that the other side has done.
    pub fn is_of_descriptors(error: &io::Error) -> bool {
        use rustix::io::Errno;
        let lacks = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
        lacks.contains(&error.raw_os_error())
    }
}
