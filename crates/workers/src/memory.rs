//! Reads how much memory processes take and how much is left, from `/proc` and the control groups.
//!
//! [`Memory`] is of one process (proc(5), `smaps_rollup`). Private is what it alone has mapped,
//! without swap. Shared is mapped by others as well: parent, siblings, users of a library. PSS
//! counts each shared page as its part. The fields of `Memory` are keys of the status, and others
//! find them by name (`status.rs`).
//! `available` is `MemAvailable`, or less where a control group of version 2 or one above it leaves
//! less. Idle files of a group count as free. Limits of version 1 are not read.
//! `killed_for_memory` is a count since the group or the machine began; only a difference says
//! something. Both versions have it.
//! What cannot be read is `None`; an unknown count of kills is 0, and so is a single missing field
//! of a process. So where `/proc` is missing, nothing is decided by memory.
//! Refuses: to remember what it has read, and to decide (`supervise/state.rs`).

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Memory of one process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Its alone.
    pub private: u64,
    /// In common with others.
    pub shared: u64,
    /// Its proportional share.
    pub pss: u64,
}

/// Returns the memory of a process; none when it has ended or the system does not say.
///
/// Takes about 1 ms for each 100 MB of resident small pages.
pub(crate) fn of(pid: i32) -> Option<Memory> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    // A process that is ending has no memory left, which says nothing of what it took.
    Some(parse(&text)).filter(|memory| memory.pss > 0)
}

fn parse(text: &str) -> Memory {
    let sum = |names: &[&str]| {
        let found = text.lines().filter_map(|line| line.split_once(':'));
        found.filter(|(name, _)| names.contains(name)).map(|(_, rest)| kilobytes(rest)).sum()
    };
    Memory {
        private: sum(&["Private_Clean", "Private_Dirty", "Private_Hugetlb"]),
        shared: sum(&["Shared_Clean", "Shared_Dirty", "Shared_Hugetlb"]),
        pss: sum(&["Pss"]),
    }
}

/// Returns how many bytes a new process may take; none when the system does not say.
///
/// The least of what the machine has available and what the control groups leave.
pub(crate) fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = kilobytes(line);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = control_groups(&groups).filter_map(|group| left_in_group(&group));
    Some(left.fold(machine, u64::min))
}

/// The control groups that limit this process, the narrowest first (cgroup v2, cgroups(7)).
fn control_groups(text: &str) -> impl Iterator<Item = PathBuf> {
    let narrowest = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let all = Path::new(narrowest).ancestors().map(|group| Path::new("/sys/fs/cgroup").join(group));
    all.collect::<Vec<_>>().into_iter()
}

fn left_in_group(group: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()
    };
    let (max, current) = (number("memory.max")?, number("memory.current")?);
    // Files that nobody uses are given up when memory is wanted.
    let statistics = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let idle = statistics.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let idle: u64 = idle.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    Some(max.saturating_sub(current).saturating_add(idle).min(max))
}

/// Returns how many processes the kernel has killed for want of memory.
///
/// In this process's control group, which its workers are in, too; else on the whole machine.
pub(crate) fn killed_for_memory() -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let counted = killed_file(&groups).and_then(|file| std::fs::read_to_string(file).ok());
    let count = counted.or_else(|| std::fs::read_to_string("/proc/vmstat").ok());
    let count = count.as_deref().unwrap_or_default().lines();
    let count = count.filter_map(|line| line.strip_prefix("oom_kill ")).next();
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Where the kernel counts those of a group itself (cgroups(7), versions 1 and 2).
fn killed_file(groups: &str) -> Option<PathBuf> {
    let below = |root: &str, group: &str| Path::new(root).join(group.trim_start_matches('/'));
    let first = groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|it| it == "memory").then_some(group)
    });
    if let Some(group) = first {
        return Some(below("/sys/fs/cgroup/memory", group).join("memory.oom_control"));
    }
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(below("/sys/fs/cgroup", group).join("memory.events.local"))
}

fn kilobytes(text: &str) -> u64 {
    let number = text.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    number.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests;
