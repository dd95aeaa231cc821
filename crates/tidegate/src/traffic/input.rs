//! Reads standard input and pipes so that a signal ends it.
//!
//! They are asked ten times a second whether there is something, for a read that waits would not
//! end by a signal. Nor would opening a named pipe that nobody writes to. After the signal it is as
//! if they had ended.
//! Never here: files that are followed, which the crate `traffic` reads.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Standard input or a named pipe, up to a signal.
pub(super) struct Interruptible {
    input: OwnedFd,
    stop: Arc<AtomicBool>,
}

impl Interruptible {
    /// Standard input; ends as soon as `stop` says so.
    ///
    /// # Errors
    /// When it is closed.
    pub(super) fn stdin(stop: Arc<AtomicBool>) -> io::Result<Self> {
        // Not the handle of `std`, which has a buffer of its own.
        Ok(Self { input: io::stdin().as_fd().try_clone_to_owned()?, stop })
    }

    /// A named pipe, whether somebody writes to it or not yet.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn pipe(path: &Path, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let pipe = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        Ok(Self { input: pipe.into(), stop })
    }
}

impl Read for Interruptible {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&PAUSE)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => match rustix::io::read(&self.input, &mut *out) {
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    read => return Ok(read?),
                },
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether standard input may have lines: a terminal and `/dev/null` have none.
pub(super) fn has_lines() -> bool {
    let found = rustix::fs::fstat(io::stdin());
    found.is_ok_and(|found| {
        let kind = FileType::from_raw_mode(found.st_mode);
        kind.is_file() || kind.is_fifo() || kind.is_socket()
    })
}

/// Whether a file is a named pipe.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// Whether standard input is a file, which waits for its reader, and nobody for it.
pub(super) fn is_file() -> bool {
    let found = rustix::fs::fstat(io::stdin());
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file())
}
