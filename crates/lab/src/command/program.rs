//! Runs a program once: starts it, empties its output, waits, and says what it used.
//!
//! [`Program::of`] takes a line apart, or leaves it to a shell. The policy of failures, and the two
//! variables that hyperfine sets for each run, are here, too.
//! Invariant: the clock runs from just before the start until all output of a pipe was read and the
//! end was seen. A child that holds the pipe open is waited for. CPU time and peak memory are of
//! the child and of the children that it waited for (`usage.rs`).
//! Failure: an exit code other than 0 is an error unless the policy allows it; a signal counts as
//! 128 and its number. The error says when: `in run 3`, `as setup`. The binary (`lab/bench.rs`)
//! knows by its first word, `in`, whether to hint at `--ignore-failure`.
//! Never here: time-outs, and the shell's start, which `shell.rs` takes off.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::usage::wait_with_usage;
use crate::LabError;

/// How often somebody who wants a program to end is heard.
const LOOK: Duration = Duration::from_millis(50);
/// How long it may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A line that a shell reads: the shell's words, then the line.
    Shell(Vec<String>, String),
    /// A program and its arguments.
    Direct(Vec<String>),
}

/// What a command reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandInput {
    /// Nothing.
    Null,
    /// A file.
    File(PathBuf),
}

/// Where a command's output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutput {
    /// To `/dev/null`.
    Null,
    /// Through a pipe, and nowhere.
    Pipe,
    /// Where this program's goes.
    Inherit,
    /// To `/dev/null`, but for errors, which go where this program's go.
    Errors,
    /// Into a file, anew each time.
    File(PathBuf),
}

/// Which failures are no reason to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailurePolicy {
    /// None.
    Fatal,
    /// All.
    Ignored,
    /// Those with these exit codes.
    Codes(Vec<i32>),
}

/// Which run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunPurpose {
    WarmUp(u64),
    Run(u64),
    Beside(&'static str),
}

/// What surrounds a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) input: &'a CommandInput,
    pub(crate) output: &'a CommandOutput,
    pub(crate) failures: &'a FailurePolicy,
    pub(crate) occasion: RunPurpose,
    /// Where set, it runs in a process group of its own, which a key of the terminal does not end;
    /// but this does.
    pub(crate) apart: Option<&'a AtomicBool>,
}

/// One run, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Trial {
    /// By the clock.
    pub real: f64,
    /// CPU time in user mode.
    pub user: f64,
    /// CPU time in the kernel.
    pub system: f64,
    /// Highest resident memory, in bytes.
    pub peak_bytes: u64,
    /// Exit code; of a signal 128 and its number.
    pub exit_code: Option<i32>,
}

impl Program {
    /// Returns the program that a line means: read by a shell, or without one taken apart as a
    /// shell would.
    ///
    /// # Errors
    /// When a quote is not closed or there is no word.
    pub fn of(shell: Option<&[String]>, line: &str) -> Result<Self, LabError> {
        if let Some(shell) = shell {
            return Ok(Self::Shell(shell.to_vec(), line.to_owned()));
        }
        match shlex::split(line) {
            Some(words) if !words.is_empty() => Ok(Self::Direct(words)),
            Some(_) => Err(LabError::Input("there is no command to run".to_owned())),
            None => Err(LabError::Input(format!("`{line}`: a quote is not closed"))),
        }
    }

    /// Returns the line as a person would type it.
    pub fn line(&self) -> String {
        match self {
            Self::Shell(_, line) => line.clone(),
            Self::Direct(words) => shlex::try_join(words.iter().map(String::as_str))
                .unwrap_or_else(|_| words.join(" ")),
        }
    }

    /// Runs it once.
    pub(crate) fn run(&self, surroundings: &RunContext<'_>) -> Result<Trial, LabError> {
        let mut command = self.command(surroundings)?;
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|source| LabError::System {
            what: format!("run `{}`", self.line()),
            source,
        })?;
        let (group, is_over) = (Pid::from_child(&child), AtomicBool::new(false));
        let waited = thread::scope(|scope| {
            if let Some(stop) = surroundings.apart {
                scope.spawn(|| end_when(stop, &is_over, group));
            }
            drain(&mut child);
            let waited = wait_with_usage(&mut child);
            is_over.store(true, Ordering::Relaxed);
            waited
        });
        let real = begun.elapsed().as_secs_f64();
        let (status, usage) = waited.map_err(|source| LabError::System {
            what: format!("wait for `{}`", self.line()),
            source,
        })?;
        if !surroundings.failures.allow(status) {
            let (how, when) = (ended(status), surroundings.occasion.words());
            return Err(LabError::Command { command: self.line(), how, when });
        }
        Ok(Trial {
            real,
            user: usage.user.as_secs_f64(),
            system: usage.system.as_secs_f64(),
            peak_bytes: usage.peak_bytes,
            exit_code: exit_code(status),
        })
    }

    fn command(&self, surroundings: &RunContext<'_>) -> Result<Command, LabError> {
        let (words, line) = match self {
            Self::Shell(words, line) => (words, Some(line)),
            Self::Direct(words) => (words, None),
        };
        let Some((program, arguments)) = words.split_first() else {
            return Err(LabError::Input("there is no command to run".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments);
        if let Some(line) = line {
            command.arg("-c").arg(line);
        }
        let opened = |path: &PathBuf, file: std::io::Result<File>| {
            let what = format!("open `{}`", path.display());
            file.map(Stdio::from).map_err(|source| LabError::System { what, source })
        };
        command.stdin(match surroundings.input {
            CommandInput::Null => Stdio::null(),
            CommandInput::File(path) => opened(path, File::open(path))?,
        });
        command.stderr(match surroundings.output {
            CommandOutput::Inherit | CommandOutput::Errors => Stdio::inherit(),
            _ => Stdio::null(),
        });
        command.stdout(match surroundings.output {
            CommandOutput::Null | CommandOutput::Errors => Stdio::null(),
            CommandOutput::Pipe => Stdio::piped(),
            CommandOutput::Inherit => Stdio::inherit(),
            CommandOutput::File(path) => opened(path, File::create(path))?,
        });
        if let Some(iteration) = surroundings.occasion.iteration() {
            command.env("HYPERFINE_ITERATION", iteration);
        }
        command.env("HYPERFINE_RANDOMIZED_ENVIRONMENT_OFFSET", offset(surroundings.occasion));
        if surroundings.apart.is_some() {
            command.process_group(0);
        }
        Ok(command)
    }
}

impl RunPurpose {
    fn iteration(self) -> Option<String> {
        match self {
            Self::WarmUp(number) => Some(format!("warmup-{number}")),
            Self::Run(number) => Some(number.to_string()),
            Self::Beside(_) => None,
        }
    }

    fn words(self) -> String {
        match self {
            Self::WarmUp(number) => format!("in warm-up run {}", number + 1),
            Self::Run(number) => format!("in run {}", number + 1),
            Self::Beside(what) => format!("as {what}"),
        }
    }
}

impl FailurePolicy {
    fn allow(&self, status: ExitStatus) -> bool {
        match self {
            _ if status.success() => true,
            Self::Fatal => false,
            Self::Ignored => true,
            Self::Codes(codes) => exit_code(status).is_some_and(|code| codes.contains(&code)),
        }
    }
}

/// Ends a process group once `stop` is set, unless it is over before.
fn end_when(stop: &AtomicBool, is_over: &AtomicBool, group: Pid) {
    let mut asked = None;
    while !is_over.load(Ordering::Relaxed) {
        if stop.load(Ordering::Relaxed) {
            let asked = asked.get_or_insert_with(Instant::now);
            let signal = if asked.elapsed() < GRACE { Signal::TERM } else { Signal::KILL };
            // It may just have ended.
            let _ = kill_process_group(group, signal);
        }
        thread::sleep(LOOK);
    }
}

/// Reads a pipe to its end.
fn drain(child: &mut Child) {
    let Some(mut output) = child.stdout.take() else { return };
    let mut buffer = vec![0; 64 << 10];
    while matches!(output.read(&mut buffer), Ok(bytes) if bytes > 0) {}
}

/// The exit code; of a signal 128 and its number, as shells have it.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| signal + 128))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// A text of another length for each run. The stack begins where the environment ends, and the
/// speed of some programs depends on that place. (Mytkowicz and others, "Producing Wrong Data
/// Without Doing Anything Obviously Wrong!", 2009.)
fn offset(occasion: RunPurpose) -> String {
    let number = match occasion {
        RunPurpose::WarmUp(number) => number,
        RunPurpose::Run(number) => number + 1_000_003,
        RunPurpose::Beside(_) => 0,
    };
    "X".repeat((stdx::mixed(number) % 4096) as usize)
}

#[cfg(test)]
mod tests;
