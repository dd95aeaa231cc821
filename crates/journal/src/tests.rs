//! The journal as a whole: over the faulty disk, over the real one, and killed.

mod damage;
mod faults;
mod full;
mod killed;
pub(crate) mod log;
mod opening;
mod races;
mod reading;
mod replaced;
mod seals;
mod strangers;
mod syncing;
pub(crate) mod vanishing;
mod witnesses;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stdx::{Disk, FaultyDisk};

use crate::{Journal, JournalRead, Lane, Options, Place, Reader, Stats, Sync};

fn dir() -> PathBuf {
    PathBuf::from("/journal")
}

fn options(disk: &FaultyDisk) -> Options {
    let mut options = Options::new(dir());
    options.sync = Sync::Always;
    options.clock = Arc::new(disk.clock());
    options
}

fn shared(disk: &FaultyDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn put(lane: &Lane, line: &str) {
    lane.append(|out| out.extend_from_slice(line.as_bytes())).unwrap();
}

/// What a reader finds: lines, and `GAP from to` for gaps.
fn read_all(dir: &Path, disk: Arc<dyn Disk>) -> Vec<String> {
    read_from(dir, disk, 0)
}

fn read_from(dir: &Path, disk: Arc<dyn Disk>, offset: u64) -> Vec<String> {
    let place = Place { offset, mark: None };
    let (mut reader, _) = Reader::open(dir, disk).unwrap().resume(place).unwrap();
    let mut found = Vec::new();
    drain(&mut reader, &mut found);
    found
}

fn drain(reader: &mut Reader, found: &mut Vec<String>) {
    loop {
        match reader.read().unwrap() {
            JournalRead::Lines(lines) => {
                found.extend(lines.map(|(line, _)| String::from_utf8_lossy(line).into_owned()));
            }
            JournalRead::Gap { from, to } => found.push(format!("GAP {from} {to}")),
            JournalRead::Lost { from, to } => found.push(format!("LOST {from} {to}")),
            JournalRead::Displaced(displaced) => found.push(format!("{displaced:?}")),
            JournalRead::CaughtUp => return,
        }
    }
}

/// Waits until the journal's state is as wanted; its threads get there by themselves.
#[track_caller]
fn until(journal: &Journal, what: &str, wanted: impl Fn(&Stats) -> bool) {
    let began = Instant::now();
    while !wanted(&journal.stats()) {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", journal.stats());
        std::thread::yield_now();
    }
}

#[test]
fn reads_back_what_lanes_append_in_their_order() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let (one, two) = (journal.lane(), journal.lane());
    for n in 0..1000 {
        put(&one, &format!("one {n}"));
        put(&two, &format!("two {n}\n"));
    }
    drop(journal);
    let found = read_all(&dir(), shared(&disk));
    for name in ["one", "two"] {
        let own: Vec<_> = found.iter().filter(|line| line.starts_with(name)).collect();
        let expected: Vec<_> = (0..1000).map(|n| format!("{name} {n}")).collect();
        assert!(own.into_iter().eq(&expected));
    }
    assert_eq!(found.len(), 2000);
}

#[test]
fn a_lane_that_is_dropped_is_written_and_the_others_go_on() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let (one, two) = (journal.lane(), journal.lane());
    put(&one, "last words");
    drop(one);
    two.append_durable(|out| out.extend_from_slice(b"second")).wait().unwrap();
    put(&two, "third");
    until(&journal, "all are written", |stats| stats.lines == 3);
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["last words", "second", "third"]);
}

#[test]
fn a_ticket_completes_with_the_end_of_its_line() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    assert_eq!(lane.append_durable(|out| out.extend_from_slice(b"abc")).wait(), Ok(4));
    assert_eq!(lane.append_durable(|out| out.extend_from_slice(b"defg")).wait(), Ok(9));
    let disk = disk.crash();
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["abc", "defg"]);
}

#[test]
fn a_second_writer_is_refused() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let error = Journal::open(options(&disk), shared(&disk)).err().unwrap();
    assert_eq!(error.to_string(), "open journal `/journal`: another process writes it");
    drop(journal);
    assert!(Journal::open(options(&disk), shared(&disk)).is_ok());
}

#[test]
fn a_panicking_encoder_leaves_no_half_line() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    put(&lane, "before");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        lane.append(|out| {
            out.extend_from_slice(b"half");
            panic!("made");
        })
    }));
    assert!(panicked.is_err());
    put(&lane, "after");
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["before", "after"]);
}

#[test]
fn a_closed_journal_takes_no_lines() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    drop(journal);
    assert_eq!(lane.append(|_| ()), Err(crate::Unrecorded::Closed));
    assert_eq!(lane.append_durable(|_| ()).wait(), Err(crate::Unrecorded::Closed));
}

#[test]
fn a_stalled_sync_does_not_stop_writing() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    disk.hold_syncs();
    let ticket = lane.append_durable(|out| out.extend_from_slice(b"first"));
    until(&journal, "the first line is written", |stats| stats.offset == 6);
    put(&lane, "second");
    until(&journal, "the second line is written", |stats| stats.offset == 13);
    assert_eq!(journal.stats().synced, 0);
    disk.release_syncs();
    assert_eq!(ticket.wait(), Ok(6));
}

#[test]
fn rotates_by_size_and_by_age() {
    let disk = FaultyDisk::new(1);
    let mut options = options(&disk);
    options.segment_bytes_max = 10;
    let journal = Journal::open(options, shared(&disk)).unwrap();
    let lane = journal.lane();
    for line in ["12345678", "90", "ab"] {
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
    }
    assert_eq!(journal.stats().segments, 2);
    disk.clock().advance(Duration::from_secs(4000));
    lane.append_durable(|out| out.extend_from_slice(b"c")).wait().unwrap();
    assert_eq!(journal.stats().segments, 3);
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["12345678", "90", "ab", "c"]);
}

#[test]
fn a_segment_is_left_at_its_age_whatever_happens_to_the_date() {
    let disk = FaultyDisk::new(1);
    let journal = Journal::open(options(&disk), shared(&disk)).unwrap();
    let lane = journal.lane();
    lane.append_durable(|out| out.extend_from_slice(b"a")).wait().unwrap();
    disk.clock().set_back(Duration::from_secs(7200));
    lane.append_durable(|out| out.extend_from_slice(b"b")).wait().unwrap();
    assert_eq!(journal.stats().segments, 1, "it is young");
    disk.clock().advance(Duration::from_secs(3600));
    lane.append_durable(|out| out.extend_from_slice(b"c")).wait().unwrap();
    assert_eq!(journal.stats().segments, 2);
    drop(journal);
    assert_eq!(read_all(&dir(), shared(&disk)), ["a", "b", "c"]);
}
