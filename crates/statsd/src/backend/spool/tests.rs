//! Parts leave oldest first, within their bytes, and over restarts; what is none stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{NUMBER_MAX, Spool, SpoolFigures, is_part, part_number};
use crate::tests::logged;

fn open(dir: &Path, bytes_max: u64) -> Spool {
    Spool::open(dir, bytes_max).expect("the folder can be read")
}

/// Everything that waits, oldest first.
fn waits(spool: &Spool) -> Vec<String> {
    let (mut last, mut all) = (None, Vec::new());
    while let Some((number, file)) = spool.next(last) {
        let part = Spool::read(&file).expect("it can be read").expect("it is a file");
        all.push(String::from_utf8(part).expect("text"));
        last = Some(number);
    }
    all
}

fn figures(displaced: u64, bytes: u64, foreign: u64) -> SpoolFigures {
    SpoolFigures { displaced, bytes, foreign }
}

#[test]
fn parts_wait_in_their_order_and_over_restarts() {
    let folder = TempDir::new().expect("a folder");
    let dir = folder.path().join("new/folder");
    let mut spool = open(&dir, 100);
    assert!(spool.is_empty() && spool.next(None).is_none());
    for part in ["one", "two!", "three"] {
        spool.push(part.as_bytes()).expect("there is room");
    }
    assert!(!spool.is_empty());
    assert_eq!((waits(&spool).len(), spool.take_figures()), (3, figures(0, 12, 0)));
    let (first, file) = spool.next(None).expect("they wait");
    assert_eq!((first, file), (0, dir.join("00000000000000000000")));
    spool.remove(first).expect("it is there");
    assert_eq!(spool.take_figures(), figures(0, 9, 0));
    let mut again = open(&dir, 100);
    assert_eq!(
        (waits(&again), again.take_figures()),
        (vec!["two!".into(), "three".into()], figures(0, 9, 0))
    );
    again.push(b"four").expect("there is room");
    assert_eq!(again.next(Some(2)).map(|(number, _)| number), Some(3), "numbers grow");
    assert_eq!(again.next(Some(3)), None);
    assert_eq!(waits(&open(&dir, 100)), ["two!", "three", "four"]);
}

#[test]
fn the_bound_is_met_to_the_byte_and_the_oldest_go_beyond_it() {
    let folder = TempDir::new().expect("a folder");
    let mut spool = open(folder.path(), 10);
    for part in ["aaaa", "bbb", "ccc"] {
        spool.push(part.as_bytes()).expect("there is room");
    }
    assert_eq!(spool.take_figures(), figures(0, 10, 0));
    spool.push(b"d").expect("the oldest goes");
    assert_eq!(
        (waits(&spool), spool.take_figures()),
        (vec!["bbb".into(), "ccc".into(), "d".into()], figures(1, 7, 0))
    );
    spool.push(b"0123456789").expect("all others go");
    assert_eq!((waits(&spool).len(), spool.take_figures()), (1, figures(3, 10, 0)));
    let error = spool.push(b"0123456789x").expect_err("it is too large");
    assert_eq!(error.to_string(), "it is larger than the spool");
    assert_eq!(
        (waits(&spool), spool.take_figures()),
        (vec!["0123456789".into()], figures(0, 10, 0))
    );
}

#[test]
fn what_is_given_up_is_counted_and_what_is_gone_already_is_no_error() {
    let folder = TempDir::new().expect("a folder");
    let mut spool = open(folder.path(), 100);
    (0..3).for_each(|_| spool.push(b"part").expect("there is room"));
    spool.give_up(1).expect("it is there");
    assert_eq!(spool.take_figures(), figures(1, 8, 0));
    fs::remove_file(folder.path().join(format!("{:020}", 0))).expect("it is there");
    spool.remove(0).expect("somebody took it away");
    spool.remove(7).expect("there was never one");
    assert_eq!(spool.take_figures(), figures(0, 4, 0));
    assert_eq!(spool.next(None).map(|(number, _)| number), Some(2));
}

#[test]
fn a_file_that_cannot_be_removed_still_waits() {
    let folder = TempDir::new().expect("a folder");
    let mut spool = open(folder.path(), 100);
    spool.push(b"part").expect("there is room");
    // The folder's name leads to a file now.
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    spool.dir = file;
    spool.remove(0).expect_err("there is no such folder");
    assert_eq!((spool.is_empty(), spool.take_figures()), (false, figures(0, 4, 0)));
    spool.push(b"more").expect_err("there is no such folder");
    assert_eq!(spool.take_figures(), figures(0, 4, 0));
}

#[test]
fn a_folder_is_read_as_it_is_and_only_leftovers_of_a_crash_go() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let write = |path: PathBuf| fs::write(path, "part").expect("there is room");
    let numbered = |number: u64| format!("{number:020}");
    for name in [
        numbered(7),
        numbered(9),
        format!("{}.new", numbered(10)),
        "notes.new".to_owned(),
        "notes".to_owned(),
        "1".to_owned(),
        "0000000000000000000x".to_owned(),
        numbered(NUMBER_MAX),
    ] {
        write(at(&name));
    }
    fs::create_dir(at(&numbered(12))).expect("a directory");
    let mut spool = open(folder.path(), 100);
    assert_eq!((waits(&spool).len(), spool.take_figures()), (2, figures(0, 8, 6)));
    assert!(!at(&format!("{}.new", numbered(10))).exists(), "a crash left it");
    assert!(at("notes.new").exists() && at("notes").exists() && at("1").exists());
    assert!(at(&format!("{}.refused", numbered(12))).exists(), "it is set aside");
    spool.push(b"next").expect("there is room");
    assert_eq!(spool.next(Some(9)).map(|(number, _)| number), Some(13), "no name is used twice");
}

#[test]
fn names_of_parts_have_twenty_digits_and_a_number_that_servers_reach() {
    for (name, number) in [
        ("00000000000000000000", Some(0)),
        ("00000000000000000042", Some(42)),
        ("01152921504606846975", Some(NUMBER_MAX - 1)),
        ("01152921504606846976", None),
        ("99999999999999999999", None),
        ("0000000000000000042", None),
        ("000000000000000000042", None),
        ("0000000000000000004x", None),
        ("+0000000000000000042", None),
        ("", None),
    ] {
        assert_eq!(part_number(name), number, "{name}");
        assert_eq!(is_part(name), number.is_some(), "{name}");
    }
}

#[test]
fn what_is_no_part_is_said_once_when_the_folder_is_opened() {
    let folder = TempDir::new().expect("a folder");
    let said = || logged(|| drop(open(folder.path(), 100))).len();
    assert_eq!(said(), 0);
    fs::write(folder.path().join("notes"), "").expect("a file");
    assert_eq!(said(), 1);
}
