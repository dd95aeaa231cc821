//! Tells how much memory this process may use: that of the machine, or of its control group.
//!
//! Invariant: the least limit counts, of the machine (`MemTotal`, proc(5)), of the group and of
//! those above it (cgroups(7), versions 1 and 2). What cannot be read does not limit. Never here:
//! how much is in use or left, and what a share of it is for.

use std::path::{Path, PathBuf};

/// Returns the bytes of memory that this process may use at most; none when the system does not
/// say.
pub fn memory_limit() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| {
        // Without a limit, version 2 says `max`, and version 1 a number beyond any machine.
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    Some(limits.fold(kilobytes.saturating_mul(1024), u64::min))
}

/// The files that may limit a process of these groups, the narrowest first.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let Some((controllers, group)) =
            line.split_once(':').and_then(|(_, it)| it.split_once(':'))
        else {
            continue;
        };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|it| it == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        files.extend(group.ancestors().map(|group| Path::new(root).join(group).join(file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::{limit_files, memory_limit};

    #[test]
    fn the_groups_of_both_versions_and_those_above_them_limit() {
        let files = limit_files("4:cpu:/x\n3:memory:/docker/a\n0::/user.slice/b\n");
        let files: Vec<_> = files.iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/user.slice/b/memory.max",
                "/sys/fs/cgroup/user.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
    }

    #[test]
    fn this_machine_has_a_limit() {
        assert!(memory_limit().is_some_and(|bytes| bytes > 1 << 20));
    }
}
