//! The machine: cores, file descriptors, names and versions, and how much others used it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

/// The core that servers run on.
pub(crate) const SERVER_CORE: usize = 0;
/// The core of the load generator and the origin.
pub(crate) const CLIENT_CORE: usize = 1;

/// Pins this process to the client's core and raises its limit of open files to what is allowed.
pub(crate) fn prepare() -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(CLIENT_CORE);
    sched_setaffinity(None, &cores).context("pin to core 1; hint: two cores are needed")?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}

/// The CPU's name as the kernel tells it.
pub(crate) fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

/// The kernel's release.
pub(crate) fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// What stands in place of a version.
pub(crate) const MISSING: &str = "missing";
/// What a shell, Python, Perl and Node say of a program, module or package that they do not find.
const NOT_FOUND: [&str; 4] = [": not found", "Traceback", "Can't locate", "node:internal"];

/// The first line that a command prints, on stdout or stderr.
///
/// It is [`MISSING`] when the command cannot run, or does not find what it is to run.
pub(crate) fn first_line(command: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(command).args(arguments).output() else {
        return MISSING.to_owned();
    };
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or(MISSING).trim();
    match NOT_FOUND.iter().any(|complaint| line.contains(complaint)) {
        true => MISSING.to_owned(),
        false => line.to_owned(),
    }
}

/// Today in UTC, as `2026-11-21`.
pub(crate) fn today() -> String {
    first_line("date", &["-u", "+%Y-%m-%d"])
}

/// CPU time that neither this process nor its servers used: who else was on the machine.
pub(crate) struct Noise {
    busy_ticks: u64,
    total_ticks: u64,
    ours_ticks: u64,
}

impl Noise {
    /// Begins to watch.
    pub(crate) fn start() -> Result<Self> {
        let (busy_ticks, total_ticks) = machine_ticks()?;
        Ok(Self { busy_ticks, total_ticks, ours_ticks: our_ticks()? })
    }

    /// Returns the share of all cores' time that others used since.
    ///
    /// Servers that have ended count as ours, and so do `servers_us` of those that still run.
    pub(crate) fn share(&self, servers_us: f64) -> Result<f64> {
        let (busy, total) = machine_ticks()?;
        let ticks_per_us = rustix::param::clock_ticks_per_second() as f64 / 1e6;
        let ours = our_ticks()?.saturating_sub(self.ours_ticks) as f64 + servers_us * ticks_per_us;
        let others = (busy - self.busy_ticks) as f64 - ours;
        Ok(others.max(0.0) / (total - self.total_ticks).max(1) as f64)
    }
}

/// Ticks in which the cores were busy, with us, with others or for another machine; and all ticks.
fn machine_ticks() -> Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat").context("read `/proc/stat`")?;
    let first = stat.lines().next().context("read `/proc/stat`: empty")?;
    let ticks: Vec<u64> =
        first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest time is in user. The loopback's
    // interrupts are part of the time that the scheduler books to whoever sent the packet.
    let total: u64 = ticks.iter().take(8).sum();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    Ok((total - idle, total))
}

/// Ticks of this process and of the children it has waited for.
fn our_ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat").context("read `/proc/self/stat`")?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // utime stime cutime cstime are fields 14 to 17; the name is field 2.
    Ok(after_name.split(' ').skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum())
}
