//! Reaps orphans where this process is the first of its system or container.
//!
//! The kernel makes process 1 the parent of every process whose own parent has ended, such as what
//! `docker exec` leaves behind. Dead ones stay as zombies until their parent has asked for them.
//! Invariant: only a zombie that two looks have found is reaped. Whoever started a process here
//! asks for it much sooner, and gets its exit status.
//! Never here: the end of our own children, which `workers` and `pipeline` wait for.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, WaitOptions, waitpid};

/// Time between two looks; our own children are asked for many times in between.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Starts to reap, if this process is the first.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn reap_as_first() -> Result<()> {
    if std::process::id() != 1 {
        return Ok(());
    }
    let thread = std::thread::Builder::new().name("orphans".to_owned());
    let run = || {
        let mut seen = BTreeSet::new();
        loop {
            std::thread::sleep(LOOK_INTERVAL);
            let dead = zombies();
            for pid in seen.intersection(&dead) {
                // Whoever was faster has its status.
                let _ = waitpid(Pid::from_raw(*pid), WaitOptions::NOHANG);
            }
            seen = dead;
        }
    };
    thread.spawn(run).map(drop).context("start a thread")
}

/// The dead children of this process that nobody has asked for (proc_pid_stat(5)).
fn zombies() -> BTreeSet<i32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| is_zombie(*pid)).collect()
}

fn is_zombie(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name before it may have brackets and spaces of its own.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let mut fields = fields.split(' ');
    fields.next() == Some("Z") && fields.next() == Some("1")
}
