//! Claims about what scans see of files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use stdx::{FileIdentity, Metadata};

use super::{FileRole, FileTable, Sighting};

fn file(path: &str, inode: u64, len: u64) -> (PathBuf, Metadata) {
    let identity = FileIdentity { device: 1, inode, created_us: 0 };
    (path.into(), Metadata { len, identity, modified_us: len })
}

/// What a scan sees: name, and whether it is new, moved and changed.
fn seen(sightings: &[Sighting]) -> Vec<(String, bool, bool, bool)> {
    let seen = sightings
        .iter()
        .map(|one| (one.file.path.display().to_string(), one.is_new, one.is_moved, one.is_changed));
    seen.collect()
}

fn row(path: &str, is_new: bool, is_moved: bool, is_changed: bool) -> (String, bool, bool, bool) {
    (path.to_owned(), is_new, is_moved, is_changed)
}

#[test]
fn a_file_is_new_once_and_then_what_became_of_it() {
    let (mut table, now) = (FileTable::default(), Instant::now());
    let (new, _) = table.observe(vec![file("b", 2, 5), file("a", 1, 5)], now);
    assert_eq!(seen(&new), [row("a", true, false, true), row("b", true, false, true)]);
    [(1, 1), (1, 2)].into_iter().for_each(|key| table.set_role(key, FileRole::Carrier(9)));
    let (again, gone) = table.observe(vec![file("a", 1, 5), file("c", 2, 6)], now);
    assert_eq!(seen(&again), [row("a", false, false, false), row("c", false, true, true)]);
    assert!(gone.is_empty());
}

#[test]
fn a_second_name_of_a_file_is_not_another_file() {
    let (mut table, now) = (FileTable::default(), Instant::now());
    let (new, _) = table.observe(vec![file("b", 1, 5), file("a", 1, 5)], now);
    assert_eq!(seen(&new), [row("a", true, false, true)]);
    let (again, gone) = table.observe(vec![file("b", 1, 5)], now);
    assert_eq!(seen(&again), [row("b", false, true, true)]);
    assert!(gone.is_empty());
}

#[test]
fn a_file_that_is_not_listed_is_gone_with_its_role() {
    let (mut table, now) = (FileTable::default(), Instant::now());
    table.observe(vec![file("a", 1, 5)], now);
    table.set_role((1, 1), FileRole::Carrier(9));
    let (_, gone) = table.observe(Vec::new(), now);
    assert_eq!(gone[0].role, FileRole::Carrier(9));
    assert!(table.is_empty());
}

#[test]
fn a_file_that_is_not_known_is_looked_at_again_though_it_rests() {
    let (mut table, now) = (FileTable::default(), Instant::now());
    let later = now + Duration::from_secs(5);
    table.observe(vec![file("a", 1, 5)], now);
    let (again, _) = table.observe(vec![file("a", 1, 5)], later);
    assert_eq!(seen(&again), [row("a", false, false, true)]);
    assert_eq!(table.get((1, 1)).unwrap().changed, now, "it has not changed");
    assert_eq!(table.unknown_bytes(), 5);
    table.observe(vec![file("a", 1, 7)], later);
    assert_eq!(table.get((1, 1)).unwrap().changed, later);
}

#[test]
fn a_file_grew_again_only_if_it_rested_and_then_grew_ever_since() {
    let (mut table, begun) = (FileTable::default(), Instant::now());
    let mut grew_again = |second: u64, len: u64, modified_us: u64| {
        let (path, metadata) = file("a", 1, len);
        let listed = vec![(path, Metadata { modified_us, ..metadata })];
        table.observe(listed, begun + Duration::from_secs(second));
        table.get((1, 1)).unwrap().grew_again
    };
    assert!(!grew_again(0, 5, 0));
    assert!(!grew_again(9, 5, 1), "it was touched");
    assert!(!grew_again(10, 6, 2), "it is being copied");
    assert!(!grew_again(14, 7, 3));
    assert!(grew_again(19, 8, 4));
    assert!(grew_again(19, 8, 4), "nothing changed");
    assert!(grew_again(20, 9, 5));
    assert!(!grew_again(30, 3, 6), "it was cut");
}
