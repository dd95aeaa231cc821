//! Holds one process that need not be our child: signals it, and waits for its end.
//!
//! Invariant: from [`Process::hold`] on it is not mistaken for another that got its number
//! (pidfd_open(2), Linux 5.3). Where there is no such handle, signals go by number and `ended`
//! never returns. Then `supervise/processes.rs` takes the end of the control connection for the end
//! of the process.
//! Also here: `end_in_words`, which words an exit status for people.
//! Never here: collecting exit statuses (`supervise/reaper.rs`), because only a parent gets them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;

use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe::Receiver;

/// A process that was there once.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pid: i32,
    handle: Handle,
}

#[derive(Debug, Clone)]
enum Handle {
    /// The handle of a process is no pipe, but waited for like one: it can be read when the
    /// process has ended.
    Descriptor(Rc<Receiver>),
    /// The system knows only numbers.
    Number,
    /// It had ended before it could be opened.
    Gone,
}

impl Process {
    /// Takes hold of the process `pid`, which may have ended.
    pub(crate) fn hold(pid: i32) -> Self {
        let handle = match open(pid) {
            Ok(descriptor) => Receiver::from_owned_fd_unchecked(descriptor)
                .map_or(Handle::Number, |it| Handle::Descriptor(Rc::new(it))),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Handle::Gone
            }
            Err(_) => Handle::Number,
        };
        Self { pid, handle }
    }

    /// Its number.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a signal; one that has ended gets none.
    pub(crate) fn signal(&self, signal: Signal) {
        let sent = match &self.handle {
            Handle::Descriptor(descriptor) => send(descriptor, signal),
            Handle::Number => Pid::from_raw(self.pid)
                .map_or(Ok(()), |pid| rustix::process::kill_process(pid, signal)),
            Handle::Gone => Ok(()),
        };
        if let Err(error) = sent
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(pid = self.pid, %error, "a signal cannot be sent");
        }
    }

    /// Waits for its end; for ever where the system has no handle.
    pub(crate) async fn ended(&self) {
        match &self.handle {
            Handle::Descriptor(descriptor) => {
                if let Err(error) = descriptor.readable().await {
                    tracing::warn!(pid = self.pid, %error, "a process cannot be watched");
                }
            }
            Handle::Number => std::future::pending().await,
            Handle::Gone => {}
        }
    }

    /// Whether its end is known by [`Process::ended`].
    pub(crate) fn is_watched(&self) -> bool {
        !matches!(self.handle, Handle::Number)
    }
}

/// How a process ended, in words.
pub(crate) fn end_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => {
            let dumped = if status.core_dumped() { ", core dumped" } else { "" };
            format!("was killed by {}{dumped}", signal_name(signal))
        }
        (None, None) => format!("ended: {status}"),
    }
}

fn signal_name(number: i32) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL (an instruction that this processor lacks)"),
        (Signal::ABORT, "SIGABRT (it gave up)"),
        (Signal::BUS, "SIGBUS (memory that is not there)"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV (a segmentation fault)"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::XCPU, "SIGXCPU (its limit of processor time)"),
    ];
    let found = known.iter().find(|(signal, _)| signal.as_raw() == number);
    found.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

#[cfg(target_os = "linux")]
fn open(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK)?)
}

#[cfg(not(target_os = "linux"))]
fn open(_pid: i32) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn send(descriptor: &Receiver, signal: Signal) -> rustix::io::Result<()> {
    rustix::process::pidfd_send_signal(descriptor, signal)
}

#[cfg(not(target_os = "linux"))]
fn send(_descriptor: &Receiver, _signal: Signal) -> rustix::io::Result<()> {
    Ok(())
}
