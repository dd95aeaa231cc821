//! A server under measurement: started on its core, watched through /proc, ended on drop.
//!
//! Invariant: the whole process tree of a server ends with its `Server`, and with this process too,
//! should that die first.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use load::{Plan, Request, Stop, Target};
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::SERVER_CORE;

/// CPU time in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    /// In user mode.
    pub user_us: f64,
    /// In the kernel.
    pub system_us: f64,
}

impl Cpu {
    /// Both together.
    pub(crate) fn total_us(self) -> f64 {
        self.user_us + self.system_us
    }

    /// What was used between `earlier` and this.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user_us: self.user_us - earlier.user_us,
            system_us: self.system_us - earlier.system_us,
        }
    }
}

/// A running server with all its processes on the server core.
pub(crate) struct Server {
    /// Name in the tables.
    pub name: String,
    /// Where it answers HTTP.
    pub address: SocketAddr,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts `command`, and waits until a GET of `path` is answered with 200.
    ///
    /// # Errors
    /// When it does not answer within 30 s; the error ends with what it wrote.
    pub(crate) fn start(
        name: &str,
        command: &[&str],
        dir: &Path,
        address: SocketAddr,
        path: &str,
    ) -> Result<Self> {
        let mut probe = Request::get(path).expect_status(200).template();
        let plan = Plan {
            timeout: Duration::from_secs(5),
            ..Plan::closed(Target::Tcp(address), 1, Stop::Count(1))
        };
        Self::start_until(name, command, dir, address, &mut || {
            load::run(&plan, &mut probe).is_ok_and(|report| report.is_clean())
        })
    }

    /// Starts `command`, and waits until `is_ready` says so.
    ///
    /// # Errors
    /// When that takes more than 30 s; the error ends with what it wrote.
    pub(crate) fn start_until(
        name: &str,
        command: &[&str],
        dir: &Path,
        address: SocketAddr,
        is_ready: &mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let log = dir.join("output.log");
        let output = fs::File::create(&log)?;
        let core = SERVER_CORE.to_string();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "taskset", "-c", &core])
            .args(command)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("start `{}`", command[0]))?;
        let mut server = Self { name: name.to_owned(), address, child, log };
        server.wait_until(is_ready)?;
        Ok(server)
    }

    /// Where the load goes.
    pub(crate) fn target(&self) -> Target {
        Target::Tcp(self.address)
    }

    /// CPU time used so far by the process tree, in steps of a microsecond.
    pub(crate) fn cpu(&self) -> Result<Cpu> {
        server_cpu(self.child.id())
    }

    /// Waits until the server does nothing any more: what it loads in the background must not be
    /// counted as the cost of requests.
    ///
    /// # Errors
    /// When it still works after two minutes.
    pub(crate) fn settle(&self) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(300);
        let deadline = Instant::now() + Duration::from_secs(120);
        while Instant::now() < deadline {
            let before = self.cpu()?;
            thread::sleep(LOOK);
            if self.cpu()?.since(before).total_us() < 0.01 * LOOK.as_micros() as f64 {
                return Ok(());
            }
        }
        bail!("server `{}` does not come to rest", self.name)
    }

    /// The highest that the resident memory of its first process was, in bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        peak_bytes(self.child.id())
    }

    /// Resident memory of the process tree in bytes, shared pages counted once per process.
    pub(crate) fn rss_bytes(&self) -> u64 {
        tree(self.child.id()).into_iter().map(|pid| status_bytes(pid, "VmRSS:")).sum()
    }

    /// Resident memory of the process tree in bytes, a page that several have counted in parts
    /// (proc(5), `smaps_rollup`).
    pub(crate) fn pss_bytes(&self) -> u64 {
        let pids = tree(self.child.id()).into_iter();
        pids.map(|pid| field_bytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")).sum()
    }

    fn wait_until(&mut self, is_ready: &mut dyn FnMut() -> bool) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                bail!("server `{}` ended with {status}:\n{}", self.name, self.output());
            }
            if is_ready() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("server `{}` does not become ready:\n{}", self.name, self.output())
    }

    fn output(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pids = tree(self.child.id());
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            // It may have ended by itself; then there is nothing to end.
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(3);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // Only what is still a child of ours or was left behind by one; both are our own.
        for pid in pids.into_iter().filter(|pid| is_same_program(*pid, &self.log)) {
            if let Some(pid) = Pid::from_raw(pid as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.child.wait();
    }
}

/// Returns the CPU time of `root` and all processes below it, all threads included.
///
/// The total comes from the scheduler's nanoseconds (`schedstat`), because `stat` counts in steps
/// of 10 ms. Only the split into user and system time is that of `stat`.
///
/// # Errors
/// When the process is gone.
pub(crate) fn server_cpu(root: u32) -> Result<Cpu> {
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let (mut user, mut system, mut exact_ns) = (0.0, 0.0, 0u64);
    for pid in tree(root) {
        // A process may end while the tree is walked; its time is lost, as for every observer.
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let fields = after_name(&stat);
        user += number(&fields, 11) as f64 / ticks_per_second;
        system += number(&fields, 12) as f64 / ticks_per_second;
        exact_ns += threads_ns(pid);
    }
    if exact_ns == 0 {
        bail!("read the CPU time of process {root}: it is gone");
    }
    let exact_us = exact_ns as f64 / 1e3;
    let user_share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
    Ok(Cpu { user_us: exact_us * user_share, system_us: exact_us * (1.0 - user_share) })
}

/// Returns the CPU time of all children of this process that have ended, in steps of a tick.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn children_cpu() -> Result<Cpu> {
    let us_per_tick = 1e6 / rustix::param::clock_ticks_per_second() as f64;
    let stat = fs::read_to_string("/proc/self/stat").context("read `/proc/self/stat`")?;
    let fields = after_name(&stat);
    let us = |index| number(&fields, index) as f64 * us_per_tick;
    Ok(Cpu { user_us: us(13), system_us: us(14) })
}

fn threads_ns(pid: u32) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Returns the resident memory of a process, in bytes.
pub(crate) fn rss_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmRSS:")
}

/// Returns the highest that the resident memory of a process was, in bytes.
pub(crate) fn peak_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, field: &str) -> u64 {
    field_bytes(&format!("/proc/{pid}/status"), field)
}

fn field_bytes(file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// `root` and all processes below it.
fn tree(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) {
            children.entry(number(&after_name(&stat), 1) as u32).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        found.extend(children.remove(&found[next]).unwrap_or_default());
        next += 1;
    }
    found
}

/// The fields of /proc/PID/stat from the third on; the second, the name, may hold spaces.
fn after_name(stat: &str) -> Vec<&str> {
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect()
}

fn number(fields: &[&str], index: usize) -> u64 {
    fields.get(index).and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Tells whether `pid` still writes to our log: a number may have been given to someone else.
fn is_same_program(pid: u32, log: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/fd/2")).is_ok_and(|path| path == log)
        || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| log.starts_with(path))
}

#[cfg(test)]
mod tests;
