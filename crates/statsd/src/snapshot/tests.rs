//! That a start takes over what was held, once, and that no file keeps it from starting.

mod heads;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::{
    LeftInterval, Record, SnapshotHead, SnapshotStore, Writer, aside, encode, mark, mark_path,
    refused,
};
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::line::LineReader;
use crate::plain_file::tests::make_fifo;
use crate::server::StatsdServer;
use crate::table::TableWriter;
use crate::tally::Tally;

/// A server that flushes once an hour, with its snapshot in this folder.
fn start(folder: &Path) -> StatsdServer {
    let config: Config = serde_json::from_value(json!({
        "listen": ["udp:127.0.0.1:0"], "management": "off", "flush": "1h", "receivers": 2,
        "idle_timeout": "never",
    }))
    .expect("the shape fits");
    let plan = config::plan(&config, folder, &mut |key, reason| panic!("{key}: {reason}"));
    StatsdServer::start(plan, None).expect("it starts")
}

fn receive(server: &StatsdServer, receiver: usize, lines: &str) {
    let tally = &server.state().tally;
    let mut table = tally.tables[receiver].lock();
    table.totals.packets += 1;
    let mut writer = TableWriter::new(&mut table, &tally.gauges);
    LineReader::new(Flavour::Native).read(lines.as_bytes(), &mut writer);
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("data/statsd-snapshot")
}

/// What a start takes over, with each name's idleness.
fn taken_over(path: &Path) -> (Vec<String>, SnapshotStore) {
    let tally = Tally::new(&plan(), 1);
    let store = SnapshotStore::open(path, &tally);
    let (table, gauges) = (tally.tables[0].lock(), tally.gauges.lock());
    let mut all = Vec::new();
    gauges.names.show(0, 99, |name, idle, value| all.push(format!("g {name} {idle} {value}")));
    table.counters.show(0, 99, |name, idle, sum| all.push(format!("c {name} {idle} {sum}")));
    table.timers.show(0, 99, |name, idle, samples| {
        let sum = samples.summary().map(|summary| (summary.received, summary.sum));
        all.push(format!("t {name} {idle} {:?} {:?}", samples.plain(), sum));
    });
    table.sets.show(0, 99, |name, idle, members| {
        all.push(format!("s {name} {idle} {}", members.len()));
    });
    all.extend(table.notices.iter().map(|notice| format!("{notice:?}")));
    all.retain(|line| !line.contains(" statsd."));
    all.sort();
    (all, store)
}

fn plan() -> crate::plan::Plan {
    config::plan(&Config::default(), Path::new("/nowhere"), &mut |key, reason| {
        panic!("{key}: {reason}")
    })
}

fn encoded(record: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(record, &mut bytes);
    bytes
}

fn write(server: &StatsdServer) {
    let store = server.state().snapshot.as_ref().expect("it has one");
    store.write(&server.state().tally, &Vec::new);
    assert_eq!(store.alarms(), [""; 0]);
}

#[test]
fn everything_that_is_held_is_taken_over() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\nt:5|ms|@0.5\ng:7|g\ng:+1|g\ns:a|s\ns:b|s\nc:2|c|#k:v");
    receive(&server, 1, "c:2|c\nt:6|ms\ns:b|s\ns:c|s\n_sc|check|1");
    let many: String = (0..2000).map(|value| format!("many:{value}|ms\n")).collect();
    receive(&server, 1, &many);
    write(&server);
    let (all, _) = taken_over(&path(&folder));
    let notice = all.iter().position(|line| line.starts_with("Check(")).expect("the check");
    let mut lines = all.clone();
    lines.remove(notice);
    let wanted = [
        "c c 0 3",
        "c c;k=v 0 2",
        "g g 0 8",
        "s s 0 3",
        "t many 0 ([], []) Some((2000, 1999000.0))",
        "t t 0 ([5.0, 6.0], [2.0, 1.0]) None",
    ];
    assert_eq!(lines, wanted);
    server.end();
}

#[test]
fn an_interval_that_was_flushed_is_not_taken_over_again_but_its_names_and_gauges_are() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\ng:7|g");
    write(&server);
    let before = path(&folder).with_extension("before");
    fs::copy(path(&folder), &before).expect("it is there");
    let flushed = server.state().tally.interval.number();
    let store = server.state().snapshot.as_ref().expect("it has one");
    store.flushed(flushed);
    // A crash here: the flush is out, and the snapshot is from before it.
    fs::copy(mark_path(&path(&folder)), mark_path(&before)).expect("it is there");
    assert_eq!(taken_over(&before).0, ["c c 0 0", "g g 0 7"]);
    mark(&mark_path(&before), flushed - 1).expect("it can be written");
    assert_eq!(taken_over(&before).0, ["c c 0 1", "g g 0 7"]);
    fs::write(mark_path(&before), "nonsense").expect("it can be written");
    assert_eq!(taken_over(&before).0, ["c c 0 0", "g g 0 7"]);
    server.end();
}

#[test]
fn a_server_that_ends_leaves_gauges_and_the_interval_that_goes_on() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\ng:7|g\ns:x|s");
    server.end();
    let (all, store) = taken_over(&path(&folder));
    assert_eq!(all, ["c c 0 1", "g g 0 7", "s s 0 1"]);
    let LeftInterval::Due(due_us) = store.left() else { panic!("{:?}", store.left()) };
    assert!(due_us > stdx::unix_micros() && due_us % 3_600_000_000 == 0, "{due_us}");
    assert!(store.state.lock().loss.is_none(), "nothing was lost");
    let again = start(folder.path());
    receive(&again, 0, "g:+1|g\nc:2|c");
    again.end();
    assert_eq!(taken_over(&path(&folder)).0, ["c c 0 3", "g g 0 8", "s s 0 1"]);
}

#[test]
fn a_start_after_a_kill_says_since_when_samples_are_lost_and_which_flushes_are_in_doubt() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c");
    while server.state().tally.interval.due_us() == 0 {
        std::thread::yield_now();
    }
    let store = server.state().snapshot.as_ref().expect("it has one");
    let before = stdx::unix_micros() as f64 / 1e6;
    store.write(&server.state().tally, &|| vec![1_700_000_010, 1_700_000_020]);
    let copy = path(&folder).with_extension("killed");
    fs::copy(path(&folder), &copy).expect("it is there");
    let (_, killed) = taken_over(&copy);
    let loss = killed.state.lock().loss.clone().expect("it was killed");
    let after = loss.after_unix_s.expect("samples may have come");
    assert!(after >= before && after <= stdx::unix_micros() as f64 / 1e6, "{after}");
    assert_eq!(loss.flushes_unix_s, [1_700_000_010, 1_700_000_020]);
    // The interval was flushed, too, and then came the kill.
    let number = server.state().tally.interval.number();
    mark(&mark_path(&copy), number).expect("it can be written");
    let (_, killed) = taken_over(&copy);
    let loss = killed.state.lock().loss.clone().expect("it was killed");
    let due_s = server.state().tally.interval.due_us() / 1_000_000;
    assert_eq!(loss.flushes_unix_s, [1_700_000_010, 1_700_000_020, due_s]);
    server.end();
}

#[test]
fn a_snapshot_of_the_version_before_is_taken_over_without_a_word_of_loss() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    // As version 1 wrote it: a head of three numbers, a counter, the end.
    let mut text = b"tidegate statsd snapshot 1\n".to_vec();
    text.extend(encoded(&(7_u64, 5_000_000_u64, 1_700_000_000_000_000_u64)));
    text.extend(encoded(&Record::Counter("c".into(), 0, 3.0)));
    text.extend(encoded(&Record::End(true)));
    let hash = twox_hash::XxHash3_64::oneshot(&text);
    text.extend(hash.to_le_bytes());
    fs::write(&path, text).expect("it can be written");
    let (all, store) = taken_over(&path);
    assert_eq!(all, ["c c 0 3"]);
    // It flushed at its end, so nobody knows whose the slot under way is.
    assert_eq!(store.left(), LeftInterval::Unknown);
    assert!(store.state.lock().loss.is_none());
}

#[test]
fn numbers_of_intervals_grow_over_restarts() {
    let folder = TempDir::new().expect("a folder");
    let mut last = 0;
    for _ in 0..3 {
        let server = start(folder.path());
        let number = server.state().tally.interval.number();
        assert!(number > last, "{number} after {last}");
        last = number;
        server.state().snapshot.as_ref().expect("it has one").flushed(number);
        server.end();
    }
    fs::remove_file(path(&folder)).expect("it is there");
    let server = start(folder.path());
    assert!(server.state().tally.interval.number() > last);
    server.end();
}

#[test]
fn a_file_that_cannot_be_used_is_set_aside_and_said() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\ng:7|g");
    write(&server);
    let good = fs::read(path(&folder)).expect("it is there");
    server.end();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let newer = [b"tidegate statsd snapshot 9\n", &good[27..]].concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("cut short", good[..good.len() - 1].to_vec()),
        ("cut short", good[..good.len() / 2].to_vec()),
        ("cut short", good[..30].to_vec()),
        ("cut short", [&good[..], b"x"].concat()),
        ("cut short", flipped),
        ("of version 9", newer),
        ("no snapshot", b"{}".to_vec()),
        ("no snapshot", Vec::new()),
        ("no snapshot", vec![0xff; 5000]),
    ];
    for (reason, bytes) in cases {
        fs::write(path(&folder), &bytes).expect("it can be written");
        let (all, store) = taken_over(&path(&folder));
        assert_eq!(all, [""; 0], "{reason}");
        let alarms = store.alarms();
        assert!(alarms.len() == 1 && alarms[0].contains(reason), "{reason}: {alarms:?}");
        assert!(!path(&folder).exists());
        assert_eq!(fs::read(refused(&path(&folder))).expect("it is kept"), bytes);
        fs::remove_file(refused(&path(&folder))).expect("it is there");
        assert_eq!(store.alarms(), [""; 0], "the alarm ends with its cause");
    }
}

#[test]
fn records_that_cannot_be_are_refused_before_anything_is_taken_over() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("snapshot");
    let head = SnapshotHead { interval: 7, ..SnapshotHead::default() };
    for wrong in [
        encoded(&Record::Counter("a".into(), 0, f64::NAN)),
        encoded(&Record::Gauge("a".into(), 0, f64::INFINITY)),
        encoded(&("t", ("a", 0, ([1.0], [1.0, 2.0], None::<u8>)))),
        encoded(&"nonsense"),
        vec![0xc1],
    ] {
        let mut writer = Writer::begin(&path, &head).expect("it can be written");
        writer.write(&encoded(&Record::Gauge("good".into(), 0, 1.0))).expect("written");
        writer.write(&wrong).expect("written");
        writer.write(&encoded(&Record::End(true))).expect("written");
        writer.end().expect("written");
        let (all, store) = taken_over(&path);
        assert_eq!(all, [""; 0]);
        assert!(store.alarms()[0].contains("what cannot be"), "{:?}", store.alarms());
    }
}

#[test]
fn a_disk_that_takes_nothing_is_an_alarm_until_it_takes_something() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    let store = server.state().snapshot.as_ref().expect("it has one");
    // Every write to it finds the disk full.
    symlink("/dev/full", aside(&path(&folder))).expect("a link");
    receive(&server, 0, "g:7|g");
    store.write(&server.state().tally, &Vec::new);
    let alarms = store.alarms();
    assert!(alarms.len() == 1 && alarms[0].contains("No space left"), "{alarms:?}");
    assert_eq!(server.state().alarms(), alarms);
    // What could not be written was removed, the link with it.
    store.write(&server.state().tally, &Vec::new);
    assert_eq!(store.alarms(), [""; 0]);
    assert_eq!(taken_over(&path(&folder)).0, ["g g 0 7"]);
    server.end();
}

#[test]
fn a_flush_that_cannot_be_noted_costs_the_snapshot_and_doubles_nothing() {
    let folder = TempDir::new().expect("a folder");
    let server = start(folder.path());
    receive(&server, 0, "c:1|c\ng:7|g");
    write(&server);
    let store = server.state().snapshot.as_ref().expect("it has one");
    symlink("/dev/full", mark_path(&path(&folder))).expect("a link");
    store.flushed(server.state().tally.interval.next().0);
    assert!(!path(&folder).exists(), "it would be taken over again");
    assert!(store.alarms()[0].contains("cannot be noted"), "{:?}", store.alarms());
    fs::remove_file(mark_path(&path(&folder))).expect("it is there");
    server.end();
}

#[test]
fn a_folder_in_its_place_keeps_no_server_from_starting() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(path(&folder).join("something")).expect("a folder");
    let server = start(folder.path());
    let alarms = server.state().alarms();
    assert!(alarms.len() == 1 && alarms[0].contains("no regular file"), "{alarms:?}");
    server.end();
    assert!(refused(&path(&folder)).join("something").exists(), "it is kept");
    assert!(path(&folder).is_file());
}

#[test]
fn fifos_in_its_place_hold_up_neither_the_start_nor_the_end() {
    let folder = TempDir::new().expect("a folder");
    fs::create_dir_all(folder.path().join("data")).expect("a folder");
    let places = [path(&folder), aside(&path(&folder)), mark_path(&path(&folder))];
    places.iter().for_each(|place| make_fifo(place));
    let server = start(folder.path());
    let alarms = server.state().alarms();
    assert!(alarms.len() == 1 && alarms[0].contains("no regular file"), "{alarms:?}");
    let store = server.state().snapshot.as_ref().expect("it has one");
    store.flushed(server.state().tally.interval.next().0);
    receive(&server, 0, "g:7|g");
    server.end();
    for place in &places {
        assert!(fs::symlink_metadata(refused(place)).is_ok(), "{} is kept", place.display());
    }
    assert!(mark_path(&path(&folder)).is_file());
    assert_eq!(taken_over(&path(&folder)).0, ["g g 0 7"]);
}
