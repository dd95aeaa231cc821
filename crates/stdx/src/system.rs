//! Asks Linux for what no safe wrapper offers: idle scheduling, early write-back, UDP segmentation,
//! unacknowledged bytes, local time. Also has a process end when its reader leaves, and takes the
//! descriptors that its starter left open.
//!
//! `run_when_idle` and `start_writing` are hints: their failures are ignored, and elsewhere they do
//! nothing. The journal uses both by a measured decision (docs/decisions/events.md). `cut_trains`
//! returns an error where the kernel refuses it, and always elsewhere. `end_with_reader` is for
//! programs that only print: it would end a server, too.
//! Invariant: the kernel reads our memory during a call only, and keeps no pointer to it. The file
//! is listed in `xtask/tidy/unsafe.txt`; no other file of this crate may have `unsafe`.
//! Refuses: what a safe crate offers. `DiskFile::start_writing` is the way to the second hint.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::calendar::{CivilDate, TimeOfDay};

/// Lets the calling thread run only when nothing else wants its core (`SCHED_IDLE`, sched(7)).
///
/// An ordinary thread that wakes takes the core at once, which the lowest niceness does not give.
/// There is no way back without privilege. So it is for threads made for one piece of work, which
/// hold no lock that others need meanwhile.
pub fn run_when_idle() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a zeroed `sched_param` is valid, and is read only during the call; 0 is the
        // calling thread.
        unsafe {
            let parameters: libc::sched_param = std::mem::zeroed();
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters);
        }
    }
}

/// Begins to write a part of a file to the disk and does not wait for it (sync_file_range(2)).
///
/// Promises nothing: only a sync makes contents durable. That sync then has less left to do.
pub(crate) fn start_writing(file: &File, offset: u64, length: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) {
        let descriptor = file.as_raw_fd();
        // SAFETY: no memory is passed, and the descriptor is open while `file` is borrowed. The
        // flag for writing alone leaves errors for the next sync to report.
        unsafe {
            libc::sync_file_range(descriptor, offset, length, libc::SYNC_FILE_RANGE_WRITE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, length);
}

/// Lets the process end when it writes to a pipe that nobody reads any more, as `head` leaves it
/// (`SIGPIPE`, pipe(7)).
///
/// std ignores the signal, and then each print fails. It is for programs that only print: one that
/// serves must outlive a reader. Sockets of std do not raise it.
pub fn end_with_reader() {
    #[cfg(unix)]
    // SAFETY: the default action has no handler whose demands could be broken.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// The first descriptor that a service manager passes (sd_listen_fds(3)).
const PASSED_FIRST: RawFd = 3;

/// Takes the descriptors that a service manager has passed, in order. No process that is started
/// from here inherits them.
///
/// # Errors
/// When one of them is not open, or they were taken before.
pub fn take_passed(count: usize) -> io::Result<Vec<OwnedFd>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("the passed descriptors are taken"));
    }
    let take = |descriptor: RawFd| {
        // SAFETY: no memory is passed; a number that is no open descriptor is an error.
        let outcome = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is open, by the protocol it is the callee's, and it is taken only once.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    };
    (PASSED_FIRST..).take(count).map(take).collect()
}

/// Has the kernel cut what is sent through a UDP socket into datagrams of so many bytes, the last
/// one shorter (`UDP_SEGMENT`, udp(7)).
///
/// # Errors
/// When the kernel does not know it, or the socket is none of UDP.
pub fn cut_trains(socket: BorrowedFd<'_>, bytes: u16) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let (value, length) = (i32::from(bytes), size_of::<i32>() as libc::socklen_t);
        let descriptor = socket.as_raw_fd();
        // SAFETY: the kernel reads as many bytes as the value has, during the call only.
        let outcome = unsafe {
            let value = (&raw const value).cast();
            libc::setsockopt(descriptor, libc::SOL_UDP, libc::UDP_SEGMENT, value, length)
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (socket, bytes);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Returns the bytes that were sent on a TCP socket and not acknowledged (`SIOCOUTQ`, tcp(7)).
/// `None` where the kernel does not say.
pub fn unacknowledged(socket: BorrowedFd<'_>) -> Option<usize> {
    #[cfg(target_os = "linux")]
    {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the kernel writes one integer, during the call only.
        let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        (outcome == 0).then(|| usize::try_from(bytes).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        None
    }
}

#[cfg(test)]
mod tests;

/// Returns date and time of day on this machine, for seconds since the Unix epoch (localtime_r(3)).
///
/// None where they cannot be told.
pub fn local_time(unix_seconds: i64) -> Option<(CivilDate, TimeOfDay)> {
    // SAFETY: a zeroed `tm` is valid, and both arguments are read and written during the call only.
    let local = unsafe {
        let mut local: libc::tm = std::mem::zeroed();
        let seconds: libc::time_t = unix_seconds;
        let done = libc::localtime_r(&raw const seconds, &raw mut local);
        (!done.is_null()).then_some(local)
    }?;
    let part = |value: i32| u32::try_from(value).ok();
    let (year, month) = (part(local.tm_year + 1900)?, part(local.tm_mon + 1)?);
    let date = CivilDate { year, month, day: part(local.tm_mday)? };
    let (hour, minute) = (part(local.tm_hour)?, part(local.tm_min)?);
    Some((date, TimeOfDay { hour, minute, second: part(local.tm_sec)? }))
}
