//! Waits for a process, and returns the seconds of CPU that it and those it waited for took.
//!
//! The kernel tells it (`/proc/PID/stat`, Linux only) before the process is forgotten. What cannot
//! be read counts as 0 seconds.

use std::fs;
use std::process::{Child, ExitStatus};

use anyhow::{Context, Result};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Ticks of a second in `/proc/PID/stat`, on every Linux.
const TICKS: f64 = 100.0;

/// Waits for the child to end.
///
/// Returns the seconds of CPU that it took with every process that it waited for.
pub(crate) fn wait(child: &mut Child) -> Result<(ExitStatus, f64)> {
    let pid = Pid::from_child(child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        .context("waiting for a process")?;
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    Ok((child.wait()?, parse(&stat).unwrap_or(0.0)))
}

/// Reads fields 14 to 17 of `proc_pid_stat(5)`: its own time and its children's.
fn parse(stat: &str) -> Option<f64> {
    // The name of the program, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks.map(|ticks| ticks.parse::<f64>().ok()).sum::<Option<f64>>().map(|ticks| ticks / TICKS)
}

#[cfg(test)]
mod tests;
