//! What makes a server slow from outside: a quota, stops, delayed system calls.
//!
//! Invariant: each ends when it is dropped, and leaves nothing behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use testkit::{Absent, require};

use crate::dice::Dice;

const GROUPS: &str = "/sys/fs/cgroup";

/// A share of a processor, by the kernel's CFS bandwidth control.
#[derive(Debug)]
pub(super) struct Quota {
    dir: PathBuf,
}

impl Quota {
    /// Lets a process run for `quota` of every `period`.
    ///
    /// # Errors
    /// Why this machine's control groups are not ours to set.
    pub(super) fn put(process: u32, quota: Duration, period: Duration) -> io::Result<Self> {
        let name = format!("tidegate-soak-{process}");
        let (quota, period) = (quota.as_micros(), period.as_micros());
        let first = Path::new(GROUPS).join("cpu");
        let (dir, settings) = match first.is_dir() {
            true => (
                first.join(name),
                vec![
                    ("cpu.cfs_period_us", period.to_string()),
                    ("cpu.cfs_quota_us", quota.to_string()),
                ],
            ),
            false => (Path::new(GROUPS).join(name), vec![("cpu.max", format!("{quota} {period}"))]),
        };
        fs::create_dir(&dir)?;
        let group = Self { dir };
        for (file, value) in settings {
            fs::write(group.dir.join(file), value)?;
        }
        fs::write(group.dir.join("cgroup.procs"), process.to_string())?;
        Ok(group)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // A group can go when its processes are elsewhere, which takes a moment.
        let parent = self.dir.parent().unwrap_or(Path::new(GROUPS)).join("cgroup.procs");
        let members = fs::read_to_string(self.dir.join("cgroup.procs")).unwrap_or_default();
        for process in members.lines() {
            let _ = fs::write(&parent, process);
        }
        let _ = fs::remove_dir(&self.dir);
    }
}

/// Stops a process now and then.
#[derive(Debug)]
pub(super) struct Stops {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stops {
    /// Stops a process for `stop`, at random with `gap` between on average.
    pub(super) fn begin(process: u32, stop: Duration, gap: Duration, mut dice: Dice) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                std::thread::sleep(gap.mul_f64(-dice.fraction().max(1e-9).ln()));
                signal(process, "STOP");
                std::thread::sleep(stop);
                signal(process, "CONT");
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn signal(process: u32, name: &str) {
    let mut kill = Command::new("kill");
    // It may have ended by itself.
    let _ = kill.args(["-s", name, &process.to_string()]).stderr(Stdio::null()).status();
}

/// strace, which looks at a process's `pread64` calls, and delays them if told so.
#[derive(Debug)]
pub(super) struct Delays {
    strace: Child,
}

impl Delays {
    /// Attaches to a process; `None` where there is no strace.
    ///
    /// # Errors
    /// When it may not be traced.
    pub(super) fn attach(process: u32, delay: Option<Duration>) -> io::Result<Option<Self>> {
        let Some(program) = require("strace", Absent::Skip) else { return Ok(None) };
        let mut strace = Command::new(program);
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64"]);
        if let Some(delay) = delay {
            let inject = format!("inject=pread64:delay_exit={}", delay.as_micros());
            strace.args(["-e", &inject]);
        }
        strace.args(["-p", &process.to_string()]).stdin(Stdio::null());
        let mut strace = strace.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        loop {
            let status = fs::read_to_string(format!("/proc/{process}/status"))?;
            let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
            if tracer.is_some_and(|tracer| tracer.trim() != "0") {
                return Ok(Some(Self { strace }));
            }
            if let Some(status) = strace.try_wait()? {
                return Err(io::Error::other(format!("strace ended: {status}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Delays {
    fn drop(&mut self) {
        signal(self.strace.id(), "INT");
        let _ = self.strace.wait();
    }
}
