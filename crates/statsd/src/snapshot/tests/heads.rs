//! What a snapshot says of its interval, and what a start makes of that.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::{
    LeftInterval, Record, SnapshotHead, SnapshotStore, Writer, encoded, mark, mark_path, path,
    plan, receive, start, taken_over, write,
};
use crate::shutdown::Shutdown;
use crate::snapshot::{NUMBER_MAX, flushed};
use crate::tally::Tally;
use crate::tests::logged;

/// Writes a snapshot with a gauge and a counter.
fn written(path: &Path, head: &SnapshotHead, went_on: bool) {
    let mut writer = Writer::begin(path, head).expect("it can be written");
    writer.write(&encoded(&Record::Gauge("g".into(), 3, 1.5))).expect("written");
    writer.write(&encoded(&Record::Counter("c".into(), 2, 4.0))).expect("written");
    writer.write(&encoded(&Record::End(went_on))).expect("written");
    let bytes = writer.end().expect("written");
    assert_eq!(bytes, fs::metadata(path).expect("it is there").len());
}

#[test]
fn names_are_as_idle_as_they_were_and_sums_are_taken_over_only_if_no_backend_got_them() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    let head = SnapshotHead { interval: 7, due_us: 5_400_000, ..SnapshotHead::default() };
    let (with, without) = (["c c 2 4", "g g 3 1.5"], ["c c 2 0", "g g 3 1.5"]);
    for (went_on, flushed, names, left) in [
        (true, None, with, LeftInterval::Due(5_400_000)),
        (true, Some(6), with, LeftInterval::Due(5_400_000)),
        (true, Some(7), without, LeftInterval::Unknown),
        (true, Some(8), without, LeftInterval::Unknown),
        (false, Some(6), without, LeftInterval::Unknown),
    ] {
        written(&path, &head, went_on);
        flushed.map_or(Ok(()), |number| mark(&mark_path(&path), number)).expect("a mark");
        let (all, store) = taken_over(&path);
        assert_eq!(all, names, "{went_on}, {flushed:?}");
        assert_eq!(store.left(), left, "{went_on}, {flushed:?}");
        let status = store.status();
        assert_eq!(status["restored_names"], 2);
        assert_eq!(status["restored_interval"], names == with);
        let _ = fs::remove_file(mark_path(&path));
    }
    // Whose the slot under way is cannot be known where it is not said.
    written(&path, &SnapshotHead { due_us: 0, ..head }, true);
    assert_eq!(taken_over(&path).1.left(), LeftInterval::Unknown);
}

#[test]
fn the_next_interval_goes_on_where_the_one_before_was_broken_off() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    let (elapsed_us, due_us) = (3_600_000_000, 99_000_000);
    let head = SnapshotHead { interval: 7, elapsed_us, due_us, ..SnapshotHead::default() };
    written(&path, &head, true);
    let tally = Tally::new(&plan(), 1);
    SnapshotStore::open(&path, &tally);
    assert_eq!((tally.interval.number(), tally.interval.due_us()), (8, due_us));
    assert!(tally.interval.passed().as_secs() >= 3_600);
    mark(&mark_path(&path), 41).expect("a mark");
    let tally = Tally::new(&plan(), 1);
    SnapshotStore::open(&path, &tally);
    assert_eq!((tally.interval.number(), tally.interval.due_us()), (42, 0));
    assert!(tally.interval.passed().as_secs() < 3_600, "that one was flushed");
}

#[test]
fn a_start_without_a_file_is_the_first_one_unless_something_was_flushed() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    assert_eq!(taken_over(&path).1.left(), LeftInterval::None);
    mark(&mark_path(&path), 3).expect("a mark");
    let (all, store) = taken_over(&path);
    assert_eq!((all.len(), store.left(), store.alarms().len()), (0, LeftInterval::Unknown, 0));
}

#[test]
fn a_file_that_cannot_be_read_is_an_alarm_and_no_first_start() {
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("a file");
    let (_, store) = taken_over(&folder.path().join("file/snapshot"));
    assert_eq!(store.left(), LeftInterval::Unknown);
    let alarms = store.alarms();
    assert!(alarms.len() == 1 && alarms[0].contains("it cannot be read: "), "{alarms:?}");
    assert!(store.status()["last_error"].is_string());
}

#[test]
fn numbers_that_no_server_reaches_are_refused_and_counted_on_from_none() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    for (interval, is_good) in [(NUMBER_MAX - 1, true), (NUMBER_MAX, false)] {
        written(&path, &SnapshotHead { interval, ..SnapshotHead::default() }, true);
        let (all, store) = taken_over(&path);
        assert_eq!((all.len() == 2, store.alarms().is_empty()), (is_good, is_good), "{interval}");
    }
    for (text, number) in [
        ("5\n", Some(5)),
        ("00000000000000000012", Some(12)),
        ("x", Some(NUMBER_MAX)),
        ("1152921504606846975", Some(NUMBER_MAX - 1)),
        ("99999999999999999999999", Some(NUMBER_MAX)),
    ] {
        fs::write(mark_path(&path), text).expect("it can be written");
        assert_eq!(flushed(&mark_path(&path)), number, "{text}");
    }
    let tally = Tally::new(&plan(), 1);
    SnapshotStore::open(&folder.path().join("none"), &tally);
    assert_eq!(tally.interval.number(), 1);
    fs::write(folder.path().join("none.flushed"), "x").expect("it can be written");
    let tally = Tally::new(&plan(), 1);
    SnapshotStore::open(&folder.path().join("none"), &tally);
    assert_eq!(tally.interval.number(), 1, "nonsense is no number to count on from");
}

#[test]
fn what_was_lost_is_said_by_what_the_head_says() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    let (unix_us, due_us) = (1_700_000_001_500_000, 1_700_000_010_000_000);
    let head = |is_last, due_us, under_way: &[u64]| SnapshotHead {
        interval: 7,
        unix_us,
        due_us,
        under_way: under_way.to_vec(),
        is_last,
        ..SnapshotHead::default()
    };
    for (head, flushed, after, flushes) in [
        (head(None, due_us, &[5]), 6, json!(null), json!(null)),
        (head(Some(true), due_us, &[]), 6, json!(null), json!(null)),
        (head(Some(true), due_us, &[5]), 6, json!(null), json!([5])),
        (head(Some(false), due_us, &[]), 6, json!(1_700_000_001.5), json!([])),
        (head(Some(false), due_us, &[5]), 7, json!(1_700_000_001.5), json!([5, 1_700_000_010])),
        (head(Some(false), 0, &[]), 7, json!(1_700_000_001.5), json!([1_700_000_002])),
        (head(Some(true), due_us, &[]), 7, json!(null), json!(null)),
    ] {
        written(&path, &head, true);
        mark(&mark_path(&path), flushed).expect("a mark");
        let mut status = json!(null);
        let lines = logged(|| status = taken_over(&path).1.status());
        let is_warned = lines.iter().any(|line| line.contains("the server before did not end"));
        assert_eq!(is_warned, !flushes.is_null(), "{lines:?}");
        let said = (&status["lost_after_unix_s"], &status["doubtful_flushes_unix_s"]);
        assert_eq!(said, (&after, &flushes), "{head:?}");
    }
}

#[test]
fn notices_of_an_interval_that_was_flushed_do_not_come_again() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\n_sc|check|1\n_e{1,1}:a|b");
    write(&server);
    let names = |all: Vec<String>| all.iter().filter(|line| line.contains('{')).count();
    let (all, store) = taken_over(&path(&folder));
    assert_eq!(
        (names(all), store.status()["restored_names"].clone()),
        (2, json!(4)),
        "three are ours"
    );
    let copy = path(&folder).with_extension("flushed-copy");
    fs::copy(path(&folder), &copy).expect("it is there");
    mark(&mark_path(&copy), server.state().tally.interval.number()).expect("a mark");
    assert_eq!(names(taken_over(&copy).0), 0);
    server.end();
}

#[test]
fn nothing_is_written_while_nothing_comes() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    let store = server.state().snapshot.as_ref().expect("it has one");
    let tally = &server.state().tally;
    while tally.interval.due_us() == 0 {
        std::thread::yield_now();
    }
    let is_written = |under_way: &[u64]| {
        fs::remove_file(path(&folder)).expect("it is there");
        store.write(tally, &|| under_way.to_vec());
        let is_there = path(&folder).exists();
        if !is_there {
            assert!(store.hand_over(tally, &|| under_way.to_vec()));
        }
        is_there
    };
    store.write(tally, &Vec::new);
    assert!(!is_written(&[]), "nothing came");
    receive(&server, 0, "a:1|c");
    assert!(is_written(&[]), "a packet and a name came");
    receive(&server, 1, "");
    assert!(is_written(&[]), "a packet came");
    tally.gauges.lock().set(b"g", 1.0);
    assert!(is_written(&[]), "a name came");
    assert!(is_written(&[7]), "a flush is on its way");
    assert!(!is_written(&[7]), "it still is");
    let status = store.status();
    assert_eq!(status["bytes"], fs::metadata(path(&folder)).expect("it is there").len());
    let now = stdx::unix_micros() / 1_000_000;
    let written = status["written_unix_s"].as_u64().expect("a number");
    assert!(written <= now && written + 3_600 > now, "{written}");
    assert_eq!(status["path"], json!(path(&folder).display().to_string()));
    server.end();
}

#[test]
fn at_an_end_no_more_snapshots_are_written() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    let store = server.state().snapshot.as_ref().expect("it has one");
    fs::remove_file(path(&folder)).expect("it is there");
    let shutdown = Shutdown::default();
    shutdown.end_all();
    store.run(&server.state().tally, &Vec::new, &shutdown);
    assert!(!path(&folder).exists());
    server.end();
}

#[test]
fn a_mark_that_can_neither_be_written_nor_made_up_for_says_both() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    write(&server);
    let store = server.state().snapshot.as_ref().expect("it has one");
    std::os::unix::fs::symlink("/dev/full", mark_path(&path(&folder))).expect("a link");
    fs::remove_file(path(&folder)).expect("it is there");
    store.flushed(1);
    let alarms = store.alarms();
    assert!(alarms[0].contains("so it is removed"), "it is gone already: {alarms:?}");
    // A folder is not removed.
    fs::create_dir_all(path(&folder).join("something")).expect("a folder");
    store.flushed(2);
    let alarms = store.alarms();
    assert!(alarms[0].contains("neither be bound to its interval nor removed"), "{alarms:?}");
    fs::remove_file(mark_path(&path(&folder))).expect("it is there");
    server.end();
}

#[test]
fn a_failure_is_logged_when_it_changes_and_that_it_passed_once() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    let store = server.state().snapshot.as_ref().expect("it has one");
    let said = |reason: &str| logged(|| store.failed(reason)).len();
    assert_eq!(["a", "a", "b", "b"].map(said), [1, 0, 1, 0]);
    let passed = || logged(|| assert!(store.hand_over(&server.state().tally, &Vec::new))).len();
    assert_eq!((passed(), passed()), (1, 0));
    server.end();
}
