//! Reads standard input so that a signal ends it, and unpacks files.
//!
//! Standard input is asked for ten times a second whether there is something, for a read that
//! waits would not end by a signal. After the signal it is as if it had ended.
//! Never here: files that are followed, which the crate `traffic` reads.

use std::io::{self, BufRead, Read, Stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Standard input, up to a signal.
pub(super) struct Interruptible {
    stdin: Stdin,
    stop: Arc<AtomicBool>,
}

impl Interruptible {
    /// Ends as soon as `stop` says so.
    pub(super) fn stdin(stop: Arc<AtomicBool>) -> Self {
        Self { stdin: io::stdin(), stop }
    }
}

impl Read for Interruptible {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match poll(&mut [PollFd::new(&self.stdin, PollFlags::IN)], Some(&PAUSE)) {
                Ok(0) | Err(Errno::INTR) => {}
                // Not by the handle of `std`, which has a buffer of its own.
                Ok(_) => return Ok(rustix::io::read(&self.stdin, out)?),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether standard input is a file, which waits for its reader, and nobody for it.
pub(super) fn is_file() -> bool {
    let found = rustix::fs::fstat(io::stdin());
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file())
}

/// What a packed file has inside; any other as it is.
///
/// # Errors
/// When its beginning cannot be read.
pub(super) fn unpacked(
    mut input: impl BufRead + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match input.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(input)?),
        _ => Box::new(input),
    })
}
