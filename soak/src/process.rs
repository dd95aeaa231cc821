//! What the kernel knows of a process: open files, connections, memory.

use std::collections::HashSet;
use std::fs;

/// Open file descriptors of a process; 0 when it is gone.
pub(crate) fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Connections over TCP that a process holds, in any state.
pub(crate) fn open_connections(pid: u32) -> usize {
    /// How `/proc/net/tcp` writes a socket that listens.
    const LISTENS: &str = "0A";
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let sockets: HashSet<String> = targets
        .filter_map(|target| {
            let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(inode.to_owned())
        })
        .collect();
    let is_open = |line: &str| {
        let mut words = line.split_whitespace();
        let state = words.nth(3);
        state != Some(LISTENS) && words.nth(5).is_some_and(|inode| sockets.contains(inode))
    };
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")));
    tables
        .into_iter()
        .flatten()
        .map(|table| table.lines().filter(|line| is_open(line)).count())
        .sum()
}

/// Resident memory of a process in bytes.
pub(crate) fn rss_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
