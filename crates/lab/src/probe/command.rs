//! Runs a program for one call, directly and not by a shell, and judges its exit code and output.
//!
//! Phases: `spawn`, until it was started, and `run`, until it ended. A call ends with the program,
//! even if children hold its output open. At the deadline the program is killed. Output is read to
//! its end and 64 KiB are kept; stderr goes nowhere.
//! A program is a plug-in of Nagios if its exit code is 0 to 3. Its first line must name that
//! state, or performance data must follow. OK and WARNING succeed; CRITICAL and UNKNOWN do with
//! performance data: slow calls are wanted. The state is an attribute. Any other program succeeds
//! with exit code 0.
//! Times called `time_…` are handed on as parts of `run`, and `inside.rs` makes them phases
//! if they fit. Other values become attributes. Here the data is found behind the bar;
//! `perfdata.rs` parses it.
//!
//! Refuses: a shell, which would be timed as well; `exec:sh -c '…'` has one.

use std::io::{self, Read};
use std::process::{Child, ChildStdout, Command as Program, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::numbered_text::NumberedText;
use super::perfdata::{self, Perfdata};

/// How much of what a program prints is kept; the rest is read and thrown away.
const PRINTED_BYTES_MAX: usize = 64 << 10;
const STATES: [&str; 4] = ["OK", "WARNING", "CRITICAL", "UNKNOWN"];

/// Runs a program.
pub(crate) struct CommandCaller {
    words: Vec<NumberedText>,
    next: Vec<String>,
}

impl CommandCaller {
    pub(crate) fn new(words: &[String]) -> Self {
        let words = words.iter().map(|word| NumberedText::new(word.as_bytes())).collect();
        Self { words, next: Vec::new() }
    }
}

impl Caller for CommandCaller {
    fn prepare(&mut self, number: u64) {
        self.next = self.words.iter().map(|word| word.text(number)).collect();
    }

    fn call(&mut self, watch: &mut Stopwatch) -> Result<CallDetails, CallFailure> {
        let mut program = Program::new(&self.next[0]);
        program.args(&self.next[1..]);
        program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn().map_err(|error| CallFailure::of("spawn", &error))?;
        watch.lap("spawn");
        let printed = run_out(&mut child, watch);
        if printed.is_err() {
            drop(child.kill());
        }
        let status = child.wait().map_err(|error| CallFailure::of("run", &error));
        let (printed, status) = (printed?, status?);
        watch.lap("run");
        match status.code() {
            Some(code) => judge(code, &String::from_utf8_lossy(&printed)),
            None => Err(CallFailure::new(status.to_string())),
        }
    }
}

/// Reads what a program prints until it ends: not longer, since what it has started may hold its
/// output open.
fn run_out(child: &mut Child, watch: &Stopwatch) -> Result<Vec<u8>, CallFailure> {
    let failed = |error: io::Error| CallFailure::of("run", &error);
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| CallFailure::new("run: it has no process id"))?;
    let ended = pidfd_open(id, PidfdFlags::empty()).map_err(|errno| failed(errno.into()))?;
    let mut output = child.stdout.take();
    let mut printed = Vec::new();
    loop {
        let left = watch.left("run")?;
        let mut fds = vec![PollFd::new(&ended, PollFlags::IN)];
        fds.extend(output.as_ref().map(|output| PollFd::new(output, PollFlags::IN)));
        wait(&mut fds, left).map_err(failed)?;
        let has_ended = !fds[0].revents().is_empty();
        let can_read = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if can_read && !read_some(&mut output, &mut printed).map_err(failed)? {
            output = None;
        }
        if has_ended && !can_read {
            return Ok(printed);
        }
    }
}

fn wait(fds: &mut [PollFd<'_>], left: Duration) -> io::Result<()> {
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(fds, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Reads once; false at the end.
fn read_some(output: &mut Option<ChildStdout>, printed: &mut Vec<u8>) -> io::Result<bool> {
    let Some(output) = output else { return Ok(false) };
    let mut buffer = [0; 16 << 10];
    let read = output.read(&mut buffer)?;
    let room = PRINTED_BYTES_MAX - printed.len();
    printed.extend_from_slice(&buffer[..read.min(room)]);
    Ok(read > 0)
}

/// What a program says by its exit code and by what it prints.
fn judge(code: i32, printed: &str) -> Result<CallDetails, CallFailure> {
    let state = usize::try_from(code).ok().and_then(|code| STATES.get(code).copied());
    let first = printed.lines().next().unwrap_or_default();
    let perfdata = perfdata(printed);
    let names_state =
        |state: &&str| first.split(|c: char| !c.is_ascii_alphabetic()).any(|word| word == *state);
    let is_plugin = state.filter(|state| names_state(state) || !perfdata.is_empty());
    match (is_plugin, code) {
        (Some(state), 0 | 1) => Ok(plugin(state, perfdata)),
        (Some(state), _) if !perfdata.is_empty() => Ok(plugin(state, perfdata)),
        (Some(state), _) => Err(CallFailure::new(state)),
        (None, 0) => Ok(CallDetails { around: "run", ..CallDetails::default() }),
        (None, _) => Err(CallFailure::new(format!("exit code {code}"))),
    }
}

/// `time_connect` and its like are steps of what a plug-in did (`check_http -E` prints them). Other
/// times may be sums, means or limits, which are no steps.
fn plugin(state: &str, perfdata: Perfdata) -> CallDetails {
    let is_step = |(label, _): &(String, f64)| label.starts_with("time_");
    let (parts, others): (Vec<_>, Vec<_>) = perfdata.times.into_iter().partition(is_step);
    let mut made =
        CallDetails { around: "run", parts, numbers: perfdata.numbers, ..CallDetails::default() };
    made.numbers.extend(others.into_iter().map(|(label, ms)| (format!("{label}_ms"), ms)));
    made.name("state", state);
    made
}

/// Performance data stand behind the bar of the first line. Behind the bar of a later line they go
/// on to the end.
fn perfdata(printed: &str) -> Perfdata {
    let (first, rest) = printed.split_once('\n').unwrap_or((printed, ""));
    let of_first = first.split_once('|').map_or("", |(_, data)| data);
    let of_rest = rest.split_once('|').map_or("", |(_, data)| data);
    perfdata::read(&format!("{of_first} {of_rest}"))
}

#[cfg(test)]
mod tests;
