//! Two requests to Linux that no safe wrapper offers; elsewhere they do nothing.
//!
//! Both are hints: whether they are granted changes when things happen, never what.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::fs::File;

/// Lets the calling thread run only when nothing else wants its core (`SCHED_IDLE`, sched(7)).
///
/// An ordinary thread that wakes takes the core at once, which the lowest niceness does not give.
/// There is no way back without privilege, so it is for threads made for one piece of work, which
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
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(file);
        // SAFETY: no memory is passed, and the descriptor is open while `file` is borrowed. The
        // flag for writing alone leaves errors for the next sync to report.
        unsafe {
            libc::sync_file_range(descriptor, offset, length, libc::SYNC_FILE_RANGE_WRITE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, length);
}

#[cfg(test)]
mod tests;
