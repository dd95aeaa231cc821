//! Waits for a child and says what it alone has used, which std cannot (wait4(2)).
//!
//! Invariant: figures are of one child and the children that it waited for. The counters of
//! getrusage(2) are for all children together, and know no peak memory of a single one.
//! `self_peak_bytes` is this program's own peak: a child begins as a copy of it, so no peak below
//! it can be seen. It is 0 where the system does not say.
#![expect(unsafe_code, reason = "no safe crate in this house wraps wait4")]

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// What a process and the children it waited for have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// CPU time in user mode.
    pub(crate) user: Duration,
    /// CPU time in the kernel.
    pub(crate) system: Duration,
    /// The highest resident memory of any of them, in bytes.
    pub(crate) peak_bytes: u64,
}

/// Waits until a child of this process ends, and returns how it ended and what it has used
/// (wait4(2)). The child is gone then; std's `wait` on it would find nobody.
///
/// # Errors
/// When it has been waited for already.
pub(crate) fn wait_with_usage(child: &mut Child) -> io::Result<(ExitStatus, Usage)> {
    drop(child.stdin.take());
    let id = libc::pid_t::try_from(child.id()).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        let mut status = 0;
        // SAFETY: a zeroed `rusage` is valid; both pointers are to values of this frame, which the
        // kernel writes during the call only.
        let (waited, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(id, &raw mut status, 0, &raw mut usage), usage)
        };
        if waited == id {
            return Ok((ExitStatus::from_raw(status), used(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns the highest resident memory of this process, in bytes; 0 where the system does not say.
///
/// A child begins as this program, so its peak is never told to be less (exec_mmap in fs/exec.c).
pub(crate) fn self_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn used(usage: &libc::rusage) -> Usage {
    let span = |time: libc::timeval| {
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec.unsigned_abs() as u32 * 1000)
    };
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Usage {
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
        peak_bytes: usage.ru_maxrss.unsigned_abs() * unit,
    }
}

#[cfg(test)]
mod tests;
