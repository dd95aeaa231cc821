//! Claims about names of log files.

use std::path::Path;

use stdx::{Disk, FaultyDisk};

use super::{NamedFile, common_name};

/// Whether `new` may be a copy of `old`, where the files `live` are there.
fn may_copy(new: &str, old: &str, live: &[&str]) -> bool {
    let disk = FaultyDisk::new(1);
    for path in live {
        disk.create_dir_all(Path::new(path).parent().unwrap()).unwrap();
        disk.create(Path::new(path)).unwrap();
    }
    named(new).may_copy(named(old), &disk)
}

fn named(path: &str) -> NamedFile<'_> {
    NamedFile { path: Path::new(path) }
}

#[test]
fn what_rotation_adds_to_a_name_is_not_part_of_it() {
    for name in ["access.log", "access.log.1", "access.log-20250101", "access.log.2.gz"] {
        assert_eq!(common_name(name), "access.log", "{name}");
    }
    for name in ["access-20250101.log", "access-2025-01-01.log.zst", "access_1.log.old"] {
        assert_eq!(common_name(name), "access.log", "{name}");
    }
    assert_eq!(common_name("10.0.0.1.log"), "10.log");
    assert_eq!(common_name("site1.log"), "site1.log");
    assert_eq!(common_name("7"), "7");
}

#[test]
fn rotated_and_packed_names_are_kin_and_two_logs_are_not() {
    assert!(may_copy("/l/access.log.1", "/l/access.log", &["/l/access.log"]));
    assert!(may_copy("/l/access.log.1.gz", "/l/access.log.1", &["/l/access.log"]));
    assert!(may_copy("/l/access.log.backup", "/l/access.log", &["/l/access.log"]));
    assert!(may_copy("/l/access.log", "/l/access.log", &[]), "it came back");
    assert!(!may_copy("/l/access.log", "/l/access.log.1", &[]), "it is the next one");
    assert!(!may_copy("/l/b.log", "/l/a.log", &["/l/a.log"]));
    assert!(!may_copy("/l/b.log.1", "/l/a.log", &["/l/a.log"]));
}

#[test]
fn a_rotated_file_belongs_to_the_log_beside_it() {
    assert!(may_copy("/old/access.log.1", "/l/access.log", &["/l/access.log"]));
    let both = ["/a/access.log", "/b/access.log"];
    assert!(!may_copy("/b/access.log.1", "/a/access.log", &both));
    assert!(!may_copy("/b/access.log.1.gz", "/a/access.log.1.gz", &both));
    assert!(!may_copy("/b/access.log", "/a/access.log", &both));
}

#[test]
fn a_packed_file_under_the_name_of_another_log_is_no_copy() {
    assert!(!may_copy("/l/a.log.1.gz", "/l/b.log", &["/l/b.log"]));
    assert!(!may_copy("/archive/b.gz", "/archive/a.gz", &[]));
}
