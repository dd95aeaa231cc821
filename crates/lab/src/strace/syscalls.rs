//! Keeps a table of system calls: what each does for the analysis, and its totals.
//!
//! Bound: `NAMES_MAX` names; others are counted together. Latencies are in bins of 3 %.
//! Invariant: a call is counted once, whole or by its second half.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::arguments::TimeoutForm;
use super::bins::LatencyBins;

const NAMES_MAX: usize = 600;
const OTHERS: &[u8] = b"(others)";
/// Different errors of a call.
const ERRORS_MAX: usize = 20;

/// What a call does, as far as the analysis looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyscallRole {
    Read,
    Write,
    /// Opens the path at this argument.
    Open(usize),
    Close,
    Duplicate,
    /// Makes descriptors that are no files.
    Socket,
    Accept,
    Sync,
    /// Renames the path at the first argument to that at the second.
    Rename(usize, usize),
    Remove(usize),
    Truncate,
    Fork,
    Execute,
    /// Waits for a child.
    Reap,
    /// Waits, perhaps up to a timeout.
    Wait(TimeoutForm),
    Other,
}

impl SyscallRole {
    fn of(name: &[u8]) -> Self {
        use TimeoutForm::{Clock, Futex, Micros, Millis, Nanos};
        match name {
            b"read" | b"readv" | b"pread64" | b"pread" | b"preadv" | b"preadv2" | b"recvfrom"
            | b"recv" | b"recvmsg" => Self::Read,
            b"write" | b"writev" | b"pwrite64" | b"pwrite" | b"pwritev" | b"pwritev2"
            | b"sendto" | b"send" | b"sendmsg" | b"sendfile" | b"sendfile64" => Self::Write,
            b"open" | b"creat" => Self::Open(0),
            b"openat" | b"openat2" => Self::Open(1),
            b"close" => Self::Close,
            b"dup" | b"dup2" | b"dup3" => Self::Duplicate,
            b"socket" | b"socketpair" | b"pipe" | b"pipe2" | b"eventfd2" | b"epoll_create1"
            | b"timerfd_create" | b"signalfd4" | b"inotify_init1" => Self::Socket,
            b"accept" | b"accept4" => Self::Accept,
            b"fsync" | b"fdatasync" | b"sync_file_range" | b"msync" | b"syncfs" => Self::Sync,
            b"rename" => Self::Rename(0, 1),
            b"renameat" | b"renameat2" => Self::Rename(1, 3),
            b"unlink" | b"rmdir" => Self::Remove(0),
            b"unlinkat" => Self::Remove(1),
            b"ftruncate" | b"ftruncate64" => Self::Truncate,
            b"clone" | b"clone3" | b"fork" | b"vfork" => Self::Fork,
            b"execve" | b"execveat" => Self::Execute,
            b"wait4" | b"waitid" | b"waitpid" => Self::Reap,
            b"poll" => Self::Wait(Millis(2)),
            b"epoll_wait" | b"epoll_pwait" => Self::Wait(Millis(3)),
            b"ppoll" | b"ppoll_time64" => Self::Wait(Nanos(2)),
            b"epoll_pwait2" => Self::Wait(Nanos(3)),
            b"select" | b"_newselect" => Self::Wait(Micros(4)),
            b"pselect6" | b"pselect6_time64" => Self::Wait(Nanos(4)),
            b"nanosleep" => Self::Wait(Nanos(0)),
            b"clock_nanosleep" | b"clock_nanosleep_time64" => Self::Wait(Clock(2)),
            b"rt_sigtimedwait" | b"rt_sigtimedwait_time64" => Self::Wait(Nanos(2)),
            b"semtimedop" => Self::Wait(Nanos(3)),
            b"io_getevents" | b"io_pgetevents" => Self::Wait(Nanos(4)),
            b"futex" | b"futex_time64" => Self::Wait(Futex),
            _ => Self::Other,
        }
    }
}

/// The totals of one system call.
#[derive(Debug, Clone)]
pub(super) struct SyscallTotals {
    pub name: String,
    pub role: SyscallRole,
    pub calls: u64,
    /// Calls whose time is known.
    pub timed: u64,
    pub total_ns: u64,
    pub on_path_ns: u64,
    pub max_ns: u64,
    pub bins: LatencyBins,
    pub errors: Vec<(String, u64)>,
}

/// All system calls of a trace.
#[derive(Debug, Default)]
pub(super) struct SyscallTable {
    by_name: HashMap<Box<[u8]>, usize, RandomState>,
    pub all: Vec<SyscallTotals>,
    /// The last name that was asked for: most calls follow one of their kind.
    last: Option<usize>,
}

impl SyscallTable {
    /// The place of a name.
    pub(super) fn place(&mut self, name: &[u8]) -> usize {
        if let Some(last) = self.last
            && self.all[last].name.as_bytes() == name
        {
            return last;
        }
        let place = match self.by_name.get(name) {
            Some(place) => *place,
            None => self.add(name),
        };
        self.last = Some(place);
        place
    }

    fn add(&mut self, name: &[u8]) -> usize {
        let name = if self.all.len() < NAMES_MAX { name } else { OTHERS };
        if let Some(place) = self.by_name.get(name) {
            return *place;
        }
        let place = self.all.len();
        self.by_name.insert(name.into(), place);
        self.all.push(SyscallTotals {
            name: String::from_utf8_lossy(name).into_owned(),
            role: SyscallRole::of(name),
            calls: 0,
            timed: 0,
            total_ns: 0,
            on_path_ns: 0,
            max_ns: 0,
            bins: LatencyBins::default(),
            errors: Vec::new(),
        });
        place
    }
}

impl SyscallTotals {
    /// Counts a call.
    pub(super) fn add(&mut self, took_ns: Option<u64>, error: Option<&[u8]>) {
        self.calls += 1;
        if let Some(took) = took_ns {
            self.timed += 1;
            self.total_ns = self.total_ns.saturating_add(took);
            self.max_ns = self.max_ns.max(took);
            self.bins.add(took);
        }
        if let Some(error) = error {
            let known = self.errors.iter().position(|(name, _)| name.as_bytes() == error);
            match known {
                Some(at) => self.errors[at].1 += 1,
                None if self.errors.len() < ERRORS_MAX => {
                    self.errors.push((String::from_utf8_lossy(error).into_owned(), 1));
                }
                None => {}
            }
        }
    }

    /// Whether it reads from a descriptor, waits for one, or for time.
    pub(super) fn waits(&self) -> bool {
        matches!(self.role, SyscallRole::Wait(_))
    }
}
