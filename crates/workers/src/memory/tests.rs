//! Files as the kernel writes them.

use super::*;

#[test]
fn sums_what_is_private_and_what_is_shared() {
    let text = "5581fd7ec000-7ffd rollup\nRss:  9000 kB\nPss:  4000 kB\nPss_Anon:  3000 kB\n\
                Shared_Clean:  100 kB\nShared_Dirty:  20 kB\nPrivate_Clean:  3 kB\n\
                Private_Dirty:  400 kB\nSwap:  0 kB\n";
    let expected = Memory { private: 403 * 1024, shared: 120 * 1024, pss: 4000 * 1024 };
    assert_eq!(parse(text), expected);
}

#[test]
#[cfg(target_os = "linux")]
fn this_process_has_memory_and_there_is_more() {
    let own = of(i32::try_from(std::process::id()).unwrap()).unwrap();
    assert!(own.private > 0 && own.pss >= own.private);
    assert!(available().unwrap() > 0);
    assert_eq!(of(i32::MAX), None);
}

#[test]
fn every_group_above_ours_limits_us() {
    let groups: Vec<_> =
        control_groups("1:name=x:/y\n0::/system.slice/tidegate.service\n").collect();
    let expected = ["system.slice/tidegate.service", "system.slice", ""];
    assert_eq!(groups, expected.map(|group| Path::new("/sys/fs/cgroup").join(group)));
}

#[test]
fn the_killed_are_counted_where_the_group_is() {
    let first = "9:name=systemd:/\n4:cpu,memory:/docker/1f\n0::/\n";
    let file = "/sys/fs/cgroup/memory/docker/1f/memory.oom_control";
    assert_eq!(killed_file(first), Some(file.into()));
    let second = "0::/system.slice/tidegate.service\n";
    let file = "/sys/fs/cgroup/system.slice/tidegate.service/memory.events.local";
    assert_eq!(killed_file(second), Some(file.into()));
    assert_eq!(killed_file(""), None);
}

#[test]
fn a_group_leaves_what_it_does_not_use_and_idle_files() {
    let dir = testkit::TempDir::new().unwrap();
    assert_eq!(left_in_group(dir.path()), None);
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("memory.max", "max\n");
    write("memory.current", "700\n");
    assert_eq!(left_in_group(dir.path()), None);
    write("memory.max", "1000\n");
    write("memory.stat", "anon 600\ninactive_file 50\n");
    assert_eq!(left_in_group(dir.path()), Some(350));
}
