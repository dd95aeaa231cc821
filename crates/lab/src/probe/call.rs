//! Defines a call: who makes it ([`Caller`]), its stopwatch, what it gave, and how it failed.
//!
//! Also words for what the system refuses, the same for all calls that failed so. They are keys
//! under which failures are counted, in JSON and in files of `--save`. By `is_hang_up`, `http.rs`
//! decides whether to ask once more. By `lacks_descriptors`, `scheduler.rs` ends the probe.
//! Invariant: `prepare` is not timed, `call` is. The laps of a stopwatch do not overlap, so phases
//! never add up to more than the call. A phase that comes twice is added up. `left` fails once the
//! deadline is past, and never returns zero. A step that does not ask it may end later.
//! `dns.rs`, `http.rs`, `tcp.rs`, `icmp.rs` and `command.rs` are callers; `callers.rs` says what a
//! new one needs. `gather.rs` makes columns of what they give, and drops phases that its `ORDER`
//! does not name. Times of others (`parts`) may overlap until then.

use std::io;
use std::time::{Duration, Instant};

use load::LoadError;

use crate::error::plain;

/// Makes calls to one target, one after the other.
pub(crate) trait Caller: Send {
    /// Makes everything ready that is no part of the call; `number` stands for `{n}`.
    fn prepare(&mut self, number: u64);

    /// Makes one call.
    ///
    /// # Errors
    /// In what way it failed; the next call is made all the same.
    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure>;
}

/// What a call gave, beside its time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallDetails {
    /// Times that others have measured inside the phase `around`, in milliseconds; they may
    /// overlap, and be wrong.
    pub(crate) parts: Vec<(String, f64)>,
    /// The phase that `parts` are in.
    pub(crate) around: &'static str,
    pub(crate) numbers: Vec<(String, f64)>,
    pub(crate) names: Vec<(String, String)>,
    /// Where a redirect leads, which is not followed.
    pub(crate) elsewhere: Option<String>,
}

/// How a call failed, in words that are the same for all calls that failed so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallFailure {
    pub(crate) words: String,
    /// Whether the peer hung up, which an idle connection allows it to.
    pub(crate) is_hang_up: bool,
    /// Whether this process may open no more files, which is not the target's failure.
    pub(crate) lacks_descriptors: bool,
}

/// Times the phases of a call, and knows when it has to end.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    deadline: Instant,
    lap: Instant,
    pub(crate) phases: Vec<(&'static str, f64)>,
}

impl CallDetails {
    pub(crate) fn name(&mut self, name: &str, value: impl Into<String>) {
        self.names.push((name.to_owned(), value.into()));
    }

    pub(crate) fn number(&mut self, name: &str, value: f64) {
        self.numbers.push((name.to_owned(), value));
    }
}

impl CallFailure {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), is_hang_up: false, lacks_descriptors: false }
    }

    /// The call took longer than it may.
    pub(crate) fn timed_out(step: &str) -> Self {
        Self::new(format!("timed out ({step})"))
    }

    /// The system refused, or a connection broke, during a step.
    pub(crate) fn of(step: &str, error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        let hung_up = |words: &str| Self { is_hang_up: true, ..Self::new(words) };
        let lacks_descriptors = LoadError::is_of_descriptors(error);
        match error.kind() {
            Kind::TimedOut | Kind::WouldBlock => Self::timed_out(step),
            Kind::ConnectionRefused => Self::new("connection refused"),
            Kind::ConnectionReset => hung_up("connection reset"),
            Kind::BrokenPipe => hung_up("connection closed"),
            Kind::ConnectionAborted => Self::new("connection aborted"),
            Kind::UnexpectedEof => hung_up("connection closed"),
            _ => Self { lacks_descriptors, ..Self::new(format!("{step}: {}", plain(error))) },
        }
    }
}

impl Stopwatch {
    /// Starts now.
    pub(crate) fn start(timeout: Duration) -> Self {
        let lap = Instant::now();
        Self { deadline: lap + timeout, lap, phases: Vec::with_capacity(8) }
    }

    /// When it was started, or the last lap ended.
    pub(crate) fn moment(&self) -> Instant {
        self.lap
    }

    /// Ends the phase that began with the last lap; one that comes twice is added up.
    pub(crate) fn lap(&mut self, phase: &'static str) {
        let now = Instant::now();
        let ms = (now - self.lap).as_secs_f64() * 1e3;
        self.lap = now;
        match self.phases.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, sum)) => *sum += ms,
            None => self.phases.push((phase, ms)),
        }
    }

    /// The time that is left, never zero.
    ///
    /// # Errors
    /// None is left.
    pub(crate) fn left(&self, step: &str) -> Result<Duration, CallFailure> {
        match self.deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(CallFailure::timed_out(step)),
        }
    }
}

#[cfg(test)]
mod tests;
