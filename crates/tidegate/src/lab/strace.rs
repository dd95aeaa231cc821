//! Runs `tidegate lab strace`: reads a trace, or traces a process, and prints what it shows.
//!
//! A source of digits alone is a process, unless a file has that name. For it strace is started,
//! and writes into a pipe. It is told to let go when the time is over or a signal comes. What it
//! says of itself is shown where it traced nothing. Never here: reading and judging, which the
//! crate `lab` does.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::lab::strace::{StraceReport, read_trace};
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::written;
use crate::cli::StraceArgs;
use crate::hint::Hint;
use crate::progress::Progress;
use crate::unpacked::Unpacked;

const NOT_ALLOWED: Hint = Hint(
    "trace as the user of the process, as root, or where `kernel.yama.ptrace_scope` is 0; a trace \
     that was written elsewhere can be read here",
);
const NO_STRACE: Hint = Hint("install strace, or read a trace that was written elsewhere");
/// Bytes of texts that strace prints: a request line is known by its begin.
const TEXT_BYTES: &str = "100";
/// Bytes of strace's own words that are kept.
const WORDS_BYTES_MAX: u64 = 4096;
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// `tidegate lab strace`
pub(super) fn run(args: &StraceArgs) -> Result<()> {
    let report = match process(&args.source) {
        Some(pid) => traced(args, pid)?,
        None => read(Path::new(&args.source))?,
    };
    written::write(&args.written, |style| match args.format.as_str() {
        "ndjson" => report.to_ndjson(),
        "html" => report.to_html(&args.source),
        _ => report.to_text(style),
    })
}

/// The process that a source names.
fn process(source: &str) -> Option<u32> {
    let pid = source.parse().ok().filter(|pid| *pid > 0)?;
    (!Path::new(source).exists()).then_some(pid)
}

/// Reads a trace from a file, or from standard input where its name is `-`.
pub(super) fn read(path: &Path) -> Result<StraceReport> {
    let source = &path.display().to_string();
    if source == "-" {
        return Ok(read_trace("standard input", Unpacked::new(io::stdin()), |_| true)?);
    }
    let file = File::open(path).with_context(|| format!("open `{source}`"))?;
    let total = file.metadata().map_or(0, |found| found.len());
    let progress = Progress::new("reading");
    let counted = CountedFile {
        input: file,
        done: 0,
        shown: Box::new(move |done| progress.set(done, total)),
    };
    Ok(read_trace(source, Unpacked::new(counted), |_| true)?)
}

/// Tells how much of a file has been read.
struct CountedFile {
    input: File,
    done: u64,
    shown: Box<dyn FnMut(u64) + Send>,
}

impl Read for CountedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        self.done += read as u64;
        (self.shown)(self.done);
        Ok(read)
    }
}

fn traced(args: &StraceArgs, pid: u32) -> Result<StraceReport> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("take signals over")?;
    }
    let mut command = Command::new("strace");
    // Into a file it names the process of each line; its own words go to stderr.
    command.args(["-f", "-ttt", "-T", "-yy", "-s", TEXT_BYTES, "-o", "/dev/stdout"]);
    command.args(["-p", &pid.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut strace = command.spawn().context(NO_STRACE).context("start strace")?;
    let pipe = strace.stdout.take().context("read what strace writes")?;
    let words = strace.stderr.take().map(words_of).context("read what strace says")?;
    crate::output::tell!("note: strace slows process {pid} down meanwhile");
    let deadline = Instant::now() + args.duration.0;
    let mut source = TracePipe { pipe, strace: &mut strace, deadline, stop, asked_to_go: None };
    let read = read_trace(&format!("process {pid}"), &mut source, |_| true);
    let _ = strace.wait();
    let words = words.join().unwrap_or_default();
    match read {
        Ok(report) => Ok(report),
        Err(_) if words.contains("not permitted") => {
            let refused = anyhow::anyhow!("{}", screen::clean(&words));
            Err(refused.context(NOT_ALLOWED).context(format!("trace process {pid}")))
        }
        Err(_) if !words.is_empty() => bail!("trace process {pid}: {}", screen::clean(&words)),
        Err(error) => Err(error.into()),
    }
}

/// What strace writes, until it is told to let go and has.
struct TracePipe<'s> {
    pipe: ChildStdout,
    strace: &'s mut Child,
    deadline: Instant,
    stop: Arc<AtomicBool>,
    /// When strace was told to let go.
    asked_to_go: Option<Instant>,
}

/// Gathers what strace says of itself, so that it never waits for a reader.
fn words_of(mut pipe: ChildStderr) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut words = Vec::new();
        let _ = pipe.by_ref().take(WORDS_BYTES_MAX).read_to_end(&mut words);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&words).trim().to_owned()
    })
}

/// After so long without an end strace is ended.
const LETS_GO_WITHIN: Duration = Duration::from_secs(5);

impl Read for TracePipe<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let pid = Pid::from_child(self.strace);
            match self.asked_to_go {
                None if self.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline => {
                    // It detaches from the process, and ends.
                    let _ = kill_process(pid, Signal::INT);
                    self.asked_to_go = Some(Instant::now());
                }
                Some(asked_to_go) if asked_to_go.elapsed() > LETS_GO_WITHIN => {
                    let _ = self.strace.kill();
                    return Ok(0);
                }
                _ => {}
            }
            if matches!(poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&LOOK)), Ok(0)) {
                continue;
            }
            return self.pipe.read(out);
        }
    }
}
