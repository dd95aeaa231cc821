//! Brings flushes to Graphite's carbon over TCP, and finds out whether carbon has read them.
//!
//! A connection for each flush (for each batch from the spool), which we close behind it, as both
//! references do. Carbon confirms nothing but by closing, too, once it has read to our end.
//! Invariant: `end` returns without an error only if that was confirmed, by the rule of
//! [`Closing`]. `Always`: carbon has closed after its system had everything. `Never`: its system
//! has everything, and that is the operator's word for it. `Learned`: as `Never` until carbon has
//! closed a connection, from then on as `Always`.
//! So an open connection, a reset, an answer and an early end are errors; then the flush waits, or
//! is lost without a spool (`worker.rs`). Bound: each step takes up to a timeout. A carbon that
//! reads slower than that gets smaller batches (`worker.rs`).
//! What its system has taken is no sign that its program reads: a hung one takes megabytes.
//! Refuses: to send a part again itself. Never here: what is sent (`graphite.rs`).

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::delivery::Transport;
use crate::plan::Closing;

/// How often an open connection is looked at, and how long one that stays open may take to be
/// reset.
const LOOK: Duration = Duration::from_millis(100);
/// What is shown of an answer.
const ANSWER_BYTES_MAX: usize = 64;

/// A connection to carbon, while a flush is under way.
#[derive(Debug)]
pub(super) struct Carbon {
    to: String,
    timeout: Duration,
    closing: Closing,
    stream: Option<TcpStream>,
    has_closed: bool,
}

impl Carbon {
    /// Carbon at `host:port`, which is looked up for each flush; each step may take so long.
    pub(super) fn new(to: String, timeout: Duration, closing: Closing) -> Self {
        Self { to, timeout, closing, stream: None, has_closed: false }
    }
}

impl Transport for Carbon {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.to, self.timeout)?,
        };
        stream.write_all(part)?;
        // Not kept after an error: nothing could confirm it any more.
        self.stream = Some(stream);
        Ok(())
    }

    /// Closes, and waits until carbon has confirmed what was sent.
    fn end(&mut self) -> io::Result<()> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        stream.shutdown(Shutdown::Write)?;
        self.wait(stream)
    }
}

impl Carbon {
    fn wait(&mut self, mut stream: TcpStream) -> io::Result<()> {
        let deadline = Instant::now() + self.confirm_timeout();
        let mut answer = [0; ANSWER_BYTES_MAX];
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            // No wait of zero: that would be one for ever.
            stream.set_read_timeout(Some(left.clamp(Duration::from_millis(1), LOOK)))?;
            match stream.read(&mut answer) {
                Ok(0) => {
                    ended_well(&stream)?;
                    self.has_closed = true;
                    return Ok(());
                }
                Ok(length) => return Err(answered(&answer[..length])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if !is_timeout(&error) => return Err(error),
                Err(_) if self.may_stay_open() && is_taken(&stream) => return Ok(()),
                Err(_) => {}
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, self.stayed_open()))
    }

    fn may_stay_open(&self) -> bool {
        match self.closing {
            Closing::Always => false,
            Closing::Never => true,
            Closing::Learned => !self.has_closed,
        }
    }

    /// How long to wait for a confirmation. Where nothing is kept, the next flush must not be late.
    fn confirm_timeout(&self) -> Duration {
        if self.closing == Closing::Learned { self.timeout / 2 } else { self.timeout }
    }

    fn stayed_open(&self) -> String {
        let Self { to, closing, has_closed, .. } = self;
        let hint = match closing {
            Closing::Always if !has_closed => {
                ", and it has not closed one yet; hint: if it never does, write `closes = false` \
                 for this backend"
            }
            _ => "",
        };
        format!("`{to}` left the connection open, so it may not have read all of it{hint}")
    }
}

/// Checks that a connection that carbon has closed had brought everything before.
fn ended_well(stream: &TcpStream) -> io::Result<()> {
    // A reset behind the end shows as an error of the socket alone.
    if stream.take_error()?.is_none() && is_taken(stream) {
        return Ok(());
    }
    let reason = "it closed the connection before it had read all of it";
    Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason))
}

/// Whether its system has everything; true where ours cannot know.
fn is_taken(stream: &TcpStream) -> bool {
    stdx::unacknowledged(stream.as_fd()).is_none_or(|bytes| bytes == 0)
}

fn answered(answer: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(answer);
    let shown = shown.lines().next().unwrap_or_default();
    io::Error::other(format!("it answered `{}`, as no Graphite does", shown.escape_debug()))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn connect(to: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("`{to}` has no address"));
    for address in to.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests;
