//! Full disks, the byte cap, and slow consumers.

use super::*;
use crate::{Bookmark, Consumer, Keep, OnFull, Unrecorded};

fn durable(lane: &Lane, line: &str) -> Result<u64, Unrecorded> {
    lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait()
}

fn wait_for_recording(journal: &Journal, wanted: bool) {
    let began = Instant::now();
    while journal.health().recording != wanted {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", journal.health());
        std::thread::yield_now();
    }
}

#[test]
fn a_full_disk_refuses_lines_until_there_is_room_and_loses_none_it_took() {
    let disk = FaultyDisk::new(1);
    let mut options = options(&disk);
    options.on_full = OnFull::Refuse;
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    durable(&lane, "first").unwrap();
    disk.set_capacity(Some(42 + 6 + 4));
    put(&lane, "taken before it was known");
    wait_for_recording(&journal, false);
    assert_eq!(lane.append(|_| ()), Err(Unrecorded::Refused));
    assert_eq!(durable(&lane, "x"), Err(Unrecorded::Refused));
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.starts_with("write segment `00000000000000000000.log`: "), "{alarm}");
    disk.set_capacity(None);
    wait_for_recording(&journal, true);
    assert_eq!(journal.health().alarm, None);
    durable(&lane, "after").unwrap();
    assert_eq!(journal.stats().unrecorded, 2);
    drop(journal);
    let found = read_all(&dir(), shared(&disk));
    assert_eq!(found, ["first", "taken before it was known", "after"]);
}

#[test]
fn a_full_disk_that_serves_counts_what_it_drops_and_recovers() {
    let disk = FaultyDisk::new(1);
    let mut options = options(&disk);
    options.lane_bytes_max = 100;
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    disk.set_capacity(Some(42));
    put(&lane, "one");
    wait_for_recording(&journal, false);
    // The lane still takes lines up to its bound, but promises nothing.
    assert_eq!(durable(&lane, "x"), Err(Unrecorded::Dropped));
    let taken = (0..100)
        .take_while(|n| lane.append(|out| out.resize(out.len() + 9, b'0' + n % 10)).is_ok());
    let taken = taken.count();
    assert_eq!(taken, 10);
    assert_eq!(lane.append(|_| ()), Err(Unrecorded::Dropped));
    assert_eq!(journal.stats().unrecorded, 3);
    disk.set_capacity(None);
    until(&journal, "the lane is drained", |stats| stats.lines == 11);
    durable(&lane, "after").unwrap();
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)).len(), 1 + taken + 1);
}

#[test]
fn a_partly_written_line_is_cut_away_when_the_disk_fills() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    // The limit and its witness, the session with its mark, and a line and a half.
    disk.set_capacity(Some(63 + 63 + 126 + 9));
    put(&lane, "12345");
    put(&lane, "67890");
    wait_for_recording(&journal, false);
    let path = dir().join("00000000000000000000.log");
    assert_eq!(disk.metadata(&path).unwrap().len, 6);
    disk.set_capacity(None);
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["12345", "67890"]);
}

fn capped(disk: &FaultyDisk) -> Options {
    let mut options = options(disk);
    options.keep = Keep { age: Duration::MAX, bytes: 4000 };
    options.on_full = OnFull::Refuse;
    options
}

/// Compresses badly, so that segments keep their size.
fn noise(seed: u64) -> String {
    let mut random = stdx::Random::new(seed);
    (0..30).map(|_| format!("{:016x}", random.bits())).collect()
}

#[test]
fn deletes_the_oldest_segments_to_stay_below_the_cap() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(capped(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    for n in 0..40 {
        durable(&lane, &format!("{n} {}", noise(n))).unwrap();
        assert!(journal.stats().disk_bytes <= 4000, "{:?}", journal.stats());
    }
    drop(journal);
    let found = read_all(&dir(), shared(&disk));
    assert!(found[0].starts_with("GAP 0 "), "{}", found[0]);
    assert!(found.last().unwrap().starts_with("39 "));
}

#[test]
fn keeps_what_a_slow_consumer_needs_and_is_full_instead() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(capped(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    let consumer = Consumer::register(&dir(), "main", 0, shared(&disk)).unwrap();
    let accepted = (0..40).take_while(|n| durable(&lane, &noise(*n)).is_ok()).count();
    assert!((4..12).contains(&accepted), "{accepted}");
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.contains("consumer `main` has not read past offset 0"), "{alarm}");
    let held = read_all(&dir(), shared(&disk));
    assert_eq!(held.len(), accepted, "nothing acknowledged is lost");
    consumer.commit(journal.stats().offset).unwrap();
    wait_for_recording(&journal, true);
    durable(&lane, "after").unwrap();
}

#[test]
fn a_backlog_longer_than_the_cap_is_written_as_its_consumer_reads() {
    let disk = FaultyDisk::new(1);
    let mut options = capped(&disk);
    options.on_full = OnFull::Serve;
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    let consumer = Consumer::register(&dir(), "main", 0, shared(&disk)).unwrap();
    let lines: Vec<_> = (0..40).map(noise).collect();
    lines.iter().for_each(|line| put(&lane, line));
    wait_for_recording(&journal, false);
    until(&journal, "the rest waits, and is counted", |stats| stats.waiting > 20);
    let mut reader = Reader::open(&dir(), shared(&disk)).unwrap();
    let mut found = Vec::new();
    while found.len() < lines.len() {
        drain(&mut reader, &mut found);
        consumer.commit(reader.offset()).unwrap();
    }
    assert_eq!(found, lines);
    for n in 0..20 {
        wait_for_recording(&journal, true);
        consumer.commit(durable(&lane, &noise(n)).unwrap()).unwrap();
    }
    assert_eq!(journal.stats().waiting, 0);
}

#[test]
fn one_segment_that_fills_the_cap_can_go_once_it_is_read() {
    let disk = FaultyDisk::new(1);
    shared(&disk).create_dir_all(&dir()).unwrap();
    let long = disk.create(&dir().join("00000000000000000000.log")).unwrap();
    long.append(format!("{}\n", "x".repeat(8000)).as_bytes()).unwrap();
    let consumer = Consumer::register(&dir(), "main", 0, shared(&disk)).unwrap();
    let journal = Journal::open(capped(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    durable(&lane, "too early").unwrap_err();
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.contains("consumer `main` has not read past offset 0"), "{alarm}");
    consumer.commit(8001).unwrap();
    wait_for_recording(&journal, true);
    for n in 0..8 {
        durable(&lane, &noise(n)).unwrap();
    }
    until(&journal, "it is gone", |stats| stats.disk_bytes <= 4000);
}

#[test]
fn a_slow_consumer_is_an_alarm_before_a_line_is_refused() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(capped(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    let consumer = Consumer::register(&dir(), "main", 0, shared(&disk)).unwrap();
    let alarms = || -> Vec<String> { journal.unread().iter().flat_map(|u| u.alarms()).collect() };
    let mut warned = None;
    for n in 0.. {
        if durable(&lane, &noise(n)).is_err() {
            break;
        }
        warned = warned.or_else(|| alarms().pop());
    }
    let warned = warned.expect("an alarm comes first");
    assert!(warned.starts_with("consumer `main` has not read "), "{warned}");
    consumer.commit(journal.stats().offset).unwrap();
    assert_eq!(alarms(), [""; 0]);
}

#[test]
fn lines_that_go_unread_by_a_bookmark_are_deleted_and_counted() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(capped(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    Bookmark::new(&dir(), "profiles", shared(&disk)).unwrap().set(0).unwrap();
    for n in 0..40 {
        durable(&lane, &noise(n)).unwrap();
    }
    let unread = journal.unread().remove(0);
    let reads = Reader::open(&dir(), shared(&disk)).unwrap();
    assert_eq!(unread.deleted_bytes, reads.offset(), "{unread:?}");
    assert!(unread.deleted_bytes > 0 && !unread.keeps);
}

#[test]
fn deletes_segments_by_age_only_once_consumers_are_done() {
    let disk = FaultyDisk::new(1);
    let mut options = options(&disk);
    options.segment_bytes_max = 10;
    options.keep.age = Duration::from_secs(60);
    let journal = Journal::open(options.clone(), shared(&disk)).unwrap();
    let lane = journal.lane();
    let consumer = Consumer::register(&dir(), "main", 0, shared(&disk)).unwrap();
    for line in ["1234567", "8901234", "5678901"] {
        durable(&lane, line).unwrap();
    }
    until(&journal, "two segments are compressed", |_| {
        let names = disk.list(&dir()).unwrap();
        names.iter().filter(|name| name.ends_with(".zst")).count() == 2
    });
    // To the microsecond: they are not younger than that.
    disk.clock().advance(options.keep.age);
    consumer.commit(16).unwrap();
    durable(&lane, "2345678").unwrap();
    until(&journal, "the old segments are deleted", |stats| stats.segments == 2);
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["GAP 0 16", "5678901", "2345678"]);
}

#[test]
fn offsets_go_on_after_a_crash_even_if_only_unsynced_segments_are_young() {
    for seed in 0..20 {
        let disk = FaultyDisk::new(seed);
        let mut options = options(&disk);
        options.segment_bytes_max = 10;
        options.keep.age = Duration::from_secs(60);
        let journal = Journal::open(options.clone(), shared(&disk)).unwrap();
        let lane = journal.lane();
        durable(&lane, "1234567").unwrap();
        disk.hold_syncs();
        disk.clock().advance(Duration::from_secs(100));
        for end in [16, 24] {
            put(&lane, "unsaved");
            until(&journal, "the line is written", |stats| stats.offset == end);
        }
        let disk = disk.crash();
        drop(journal);
        for _ in 0..3 {
            let journal = Journal::open(options.clone(), shared(&disk)).unwrap();
            assert!(journal.stats().offset >= 8, "seed {seed}: {:?}", journal.stats());
        }
    }
}

#[test]
fn a_consumer_file_of_garbage_holds_everything() {
    let disk = FaultyDisk::new(1);
    drop(Journal::open(capped(&disk), shared(&disk)).unwrap());
    let consumer = Consumer::register(&dir(), "main", 5000, shared(&disk)).unwrap();
    let offset = || crate::consumer::positions(&disk, &dir()).unwrap()[0].offset;
    assert_eq!(offset(), 5000);
    let file = disk.open_write(&dir().join("consumers/main")).unwrap();
    file.write_at(b"garbage", 0).unwrap();
    assert_eq!(offset(), 0);
    consumer.commit(6000).unwrap();
    assert_eq!(offset(), 6000);
    assert!(Consumer::register(&dir(), "../x", 0, shared(&disk)).is_err());
}
