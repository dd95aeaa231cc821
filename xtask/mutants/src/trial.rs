//! Runs the tests of a crate on mutants, several at a time, and keeps what became of each.
//!
//! A run ends at the first test that fails. It has a directory for temporary files and a bound in
//! memory. Its limit in time depends on how long the tests take without a mutant.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::mutant::Mutant;
use crate::workshop::{Binary, Workshop};

/// Tests that take seconds: mutants that others kill do without them.
const SLOW: &str = include_str!("../slow.txt");
/// Runs at a time: tests also wait.
const JOBS: usize = 3;
/// What a run may take beyond what it takes without a mutant, which other runs slow down.
const LIMIT_FACTOR: u32 = 5;
const LIMIT_MIN: Duration = Duration::from_secs(20);
/// Tests that may fail without a mutant because they read the sources, which are woven.
const LEFT_OUT_MAX: usize = 3;
/// Attempts to begin a run.
const STARTS_MAX: usize = 5;
/// How a shell ends that cannot run a program, or finds none (POSIX).
const CANNOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Memory that a run may map, in KiB: some mutants ask for ever more.
const MEMORY_KIB: u32 = 12 << 20;

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// By this test, or by the end of the process.
    Killed {
        by: String,
    },
    /// The tests did not come to an end: that is noticed.
    Endless,
    Survived {
        reached: bool,
    },
    Unviable,
}

/// Runs that go on, and those that are over.
#[derive(Debug)]
pub(crate) struct Trials {
    queue: SyncSender<Job>,
    workers: Vec<JoinHandle<Result<()>>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The directory of the crate, in which its tests run.
    dir: PathBuf,
    results: PathBuf,
    /// How long the quick tests and the slow ones may take.
    limits: OnceLock<[Duration; 2]>,
    /// Tests that fail in a woven source without a mutant.
    left_out: Mutex<Vec<String>>,
    fates: Mutex<Vec<(String, Fate)>>,
}

#[derive(Debug)]
struct Job {
    name: String,
    binary: Binary,
    number: Option<usize>,
}

/// How one run of tests ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed(String),
    TooLate,
}

impl Trials {
    /// Begins without results of last time.
    pub(crate) fn begin(workshop: &Workshop, results: &Path) -> Result<Self> {
        for file in ["killed.txt", "survived.txt", "unviable.txt"] {
            fs::write(results.join(file), "")?;
        }
        let shared = Arc::new(Shared {
            dir: workshop.dir(),
            results: results.to_owned(),
            limits: OnceLock::new(),
            left_out: Mutex::default(),
            fates: Mutex::default(),
        });
        let (queue, jobs) = mpsc::sync_channel(JOBS);
        let jobs = Arc::new(Mutex::new(jobs));
        let workers = (0..JOBS)
            .map(|_| {
                let (jobs, shared) = (Arc::clone(&jobs), Arc::clone(&shared));
                thread::spawn(move || shared.work(&jobs))
            })
            .collect();
        Ok(Self { queue, workers, shared })
    }

    /// Runs all tests without a mutant, and returns the numbers of those that they come to.
    pub(crate) fn measure(&self, binary: &Binary) -> Result<BTreeSet<usize>> {
        let reached = tempfile::NamedTempFile::new()?;
        let mut limits = [LIMIT_MIN; 2];
        for (limit, tests) in limits.iter_mut().zip([quick(), slow()]) {
            let took = self.pass(binary, &tests, reached.path())?;
            *limit = (took * LIMIT_FACTOR).max(LIMIT_MIN);
        }
        // Those of the first group hold for all.
        self.shared.limits.get_or_init(|| limits);
        let numbers = fs::read_to_string(reached.path())?;
        numbers.lines().map(|line| line.parse().context("a number that is none")).collect()
    }

    /// Runs tests without a mutant until they pass, and returns how long they take.
    fn pass(&self, binary: &Binary, tests: &[&str], reached: &Path) -> Result<Duration> {
        loop {
            let begun = Instant::now();
            let mut command = self.shared.command(binary, tests);
            command.env("TIDEGATE_MUTANTS_REACHED", reached);
            match watch(&mut command, Duration::from_secs(1800))? {
                Ended::Passed => return Ok(begun.elapsed()),
                Ended::Failed(test) => self.leave_out(test)?,
                Ended::TooLate => bail!("without a mutant, the tests take over half an hour"),
            }
        }
    }

    fn leave_out(&self, test: String) -> Result<()> {
        let mut left_out = self.shared.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, failure) = (left_out.len(), format!("without a mutant, `{test}` fails"));
        ensure!(count < LEFT_OUT_MAX && !left_out.contains(&test), "{failure}");
        println!("{failure}: it is left out");
        left_out.push(test);
        Ok(())
    }

    /// Runs the tests on a mutant when one of the jobs is free.
    pub(crate) fn submit(&self, mutant: &Mutant, binary: &Binary, number: Option<usize>) {
        let job = Job { name: mutant.name.clone(), binary: Arc::clone(binary), number };
        // The workers are gone only if one failed, and `end` says so.
        self.queue.send(job).ok();
    }

    /// Keeps what became of a mutant.
    pub(crate) fn record(&self, mutant: &Mutant, fate: &Fate) -> Result<()> {
        self.shared.record(&mutant.name, fate.clone())
    }

    /// Waits for all runs, and returns what became of each mutant.
    pub(crate) fn end(self) -> Result<Vec<(String, Fate)>> {
        drop(self.queue);
        for worker in self.workers {
            worker.join().map_err(|_| anyhow!("a run panicked"))??;
        }
        let fates = self.shared.fates.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(fates.clone())
    }
}

impl Shared {
    fn work(&self, jobs: &Mutex<Receiver<Job>>) -> Result<()> {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return Ok(()) };
            self.record(&job.name, self.attempt(&job)?)?;
        }
    }

    /// Runs the quick tests, and on what survives them the slow ones.
    fn attempt(&self, job: &Job) -> Result<Fate> {
        let limits = self.limits.get().context("mutants before a run without any")?;
        for (limit, tests) in limits.iter().zip([quick(), slow()]) {
            let mut command = self.command(&job.binary, &tests);
            command.envs(job.number.map(|number| ("TIDEGATE_MUTANT", number.to_string())));
            match watch(&mut command, *limit)? {
                Ended::Passed => {}
                Ended::Failed(by) => return Ok(Fate::Killed { by }),
                Ended::TooLate => return Ok(Fate::Endless),
            }
        }
        Ok(Fate::Survived { reached: true })
    }

    fn command(&self, binary: &Binary, tests: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""));
        command.arg(binary.as_os_str()).args(tests);
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        command.args(left_out.iter().flat_map(|test| ["--skip", test]));
        command.current_dir(&self.dir).env("CARGO_MANIFEST_DIR", &self.dir);
        command
    }

    fn record(&self, name: &str, fate: Fate) -> Result<()> {
        let (file, line) = match &fate {
            Fate::Killed { by } => ("killed.txt", format!("{name}  {by}\n")),
            Fate::Endless => ("killed.txt", format!("{name}  (never ends)\n")),
            Fate::Survived { .. } => ("survived.txt", format!("{name}\n")),
            Fate::Unviable => ("unviable.txt", format!("{name}\n")),
        };
        let mut fates = self.fates.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = File::options().append(true).open(self.results.join(file))?;
        file.write_all(line.as_bytes())?;
        fates.push((name.to_owned(), fate));
        Ok(())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    SLOW.lines().filter(|line| !line.starts_with('#'))
}

fn quick() -> Vec<&'static str> {
    names().flat_map(|test| ["--skip", test]).collect()
}

fn slow() -> Vec<&'static str> {
    names().collect()
}

/// Runs tests until one fails or all have passed, and ends every process of the run.
///
/// # Errors
/// When they do not begin: that is no sign of a mutant.
fn watch(command: &mut Command, limit: Duration) -> Result<Ended> {
    for _ in 0..STARTS_MAX {
        if let Some(ended) = watch_once(command, limit)? {
            return Ok(ended);
        }
    }
    bail!("`{command:?}` cannot be run")
}

/// Returns `None` where the shell cannot run the program, such as a copy that another process which
/// just forked has still open.
fn watch_once(command: &mut Command, limit: Duration) -> Result<Option<Ended>> {
    let dir = tempfile::Builder::new().prefix("mutant-").tempdir()?;
    // Servers that root starts run as other users, and write there, too.
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777))?;
    command.env("TMPDIR", dir.path()).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("starting the tests")?;
    let ended = follow(&mut child, Instant::now() + limit);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        kill_process_group(group, Signal::KILL).ok();
    }
    let is_begun = !matches!(child.wait()?.code(), Some(CANNOT_RUN | NOT_FOUND));
    Ok(is_begun.then_some(ended))
}

/// Reads what tests say, up to the first that fails, the end or the limit.
fn follow(child: &mut Child, end: Instant) -> Ended {
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take().map(BufReader::new);
    // It ends with the output, which the end of the processes closes.
    thread::spawn(move || {
        for line in output.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let test =
                    line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
                if let Some(test) = test {
                    return Ended::Failed(test.to_owned());
                }
                if line.starts_with("test result: ok") {
                    return Ended::Passed;
                }
            }
            Err(RecvTimeoutError::Timeout) => return Ended::TooLate,
            Err(RecvTimeoutError::Disconnected) => return Ended::Failed("its end".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
