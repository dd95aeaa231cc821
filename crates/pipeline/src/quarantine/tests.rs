//! The quarantine over a disk in memory: what is in it after failures.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stdx::{Disk, FaultyDisk, Lasting};

use super::Quarantine;
use crate::chunk::LineLocation;
use crate::error::LineError;
use crate::status::Status;

const PATH: &str = "/data/quarantine/web-main.ndjson";

fn reason() -> LineError {
    LineError::Field { name: "item".into(), problem: "is missing" }
}

fn quarantine(disk: &FaultyDisk, bytes_max: u64) -> (Quarantine, Arc<Status>) {
    let status = Arc::new(Status::default());
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    (Quarantine::new(PATH.into(), disk, bytes_max, Arc::clone(&status)), status)
}

fn at(offset: u64) -> LineLocation<'static> {
    LineLocation { file: "access.log", offset }
}

/// Adds a line and hands its batch over.
fn keep(quarantine: &mut Quarantine, offset: u64, line: &[u8]) {
    quarantine.add(at(offset), &reason(), line);
    quarantine.close_batch().unwrap().sync().unwrap();
}

fn entries(disk: &FaultyDisk) -> Vec<serde_json::Value> {
    let file = disk.open_read(Path::new(PATH)).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    let read = file.read_at(&mut bytes, 0).unwrap();
    assert_eq!(read, bytes.len());
    let lines = String::from_utf8(bytes).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn offsets(disk: &FaultyDisk) -> Vec<u64> {
    entries(disk).iter().map(|entry| entry["offset"].as_u64().unwrap()).collect()
}

#[test]
fn an_entry_names_its_line_and_the_reason() {
    let disk = FaultyDisk::new(1);
    let (mut quarantine, status) = quarantine(&disk, 1 << 20);
    quarantine.resume(0);
    keep(&mut quarantine, 7, b"a \"b\" \\ \0");
    let entry = &entries(&disk)[0];
    assert_eq!(entry["file"], "access.log");
    assert_eq!(entry["line"], "a \"b\" \\ \0");
    assert_eq!(entry["reason"], "field `item` is missing");
    assert_eq!(status.quarantined.load(Ordering::Relaxed), 1);
}

#[test]
fn a_line_of_any_bytes_reads_back_as_it_was() {
    let disk = FaultyDisk::new(1);
    let (mut quarantine, _) = quarantine(&disk, 1 << 20);
    quarantine.resume(0);
    let line: Vec<u8> = (0..=255).filter(|byte| *byte != b'\n').collect();
    keep(&mut quarantine, 0, &line);
    let file = disk.open_read(Path::new(PATH)).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    let start = memchr::memmem::find(&bytes, b"\"line\":\"").unwrap() + 8;
    let inside = &bytes[start..bytes.len() - 3];
    assert_eq!(*exchange::unescape_json(inside).unwrap(), line);
}

#[test]
fn a_resume_cuts_what_was_not_committed_and_keeps_the_rest() {
    let disk = FaultyDisk::new(1);
    let (mut first, _) = quarantine(&disk, 1 << 20);
    first.resume(0);
    for offset in 0..5 {
        keep(&mut first, offset, b"line");
    }
    for committed in [4, 2, 2, 0] {
        let (mut next, _) = quarantine(&disk, 1 << 20);
        next.resume(committed);
        assert_eq!(offsets(&disk), (0..committed).collect::<Vec<_>>());
    }
    first.resume(0);
    keep(&mut first, 9, b"line");
    assert_eq!(offsets(&disk), [9]);
}

#[test]
fn a_crash_before_the_commit_doubles_nothing_and_after_it_loses_nothing() {
    for seed in 0..50 {
        let disk = FaultyDisk::new(seed);
        let (mut first, _) = quarantine(&disk, 1 << 20);
        first.resume(0);
        keep(&mut first, 0, b"committed");
        first.add(at(1), &reason(), b"under way");
        let unsynced = first.close_batch().unwrap();
        let after = disk.crash();
        drop(unsynced);
        let (mut again, _) = quarantine(&after, 1 << 20);
        again.resume(1);
        assert_eq!(offsets(&after), [0]);
        keep(&mut again, 1, b"under way");
        assert_eq!(offsets(&after), [0, 1]);
    }
}

#[test]
fn past_the_bound_lines_are_counted_and_not_kept() {
    let disk = FaultyDisk::new(1);
    let (mut quarantine, status) = quarantine(&disk, 400);
    quarantine.resume(0);
    for offset in 0..10 {
        quarantine.add(at(offset), &reason(), &[b'x'; 60]);
    }
    quarantine.close_batch();
    assert_eq!(offsets(&disk), [0, 1]);
    assert_eq!(status.quarantined.load(Ordering::Relaxed), 10);
    assert_eq!(status.quarantine_dropped.load(Ordering::Relaxed), 8);
}

#[test]
fn a_failing_disk_costs_entries_that_are_counted_and_no_half_entry_stays() {
    let disk = FaultyDisk::new(1);
    let (mut quarantine, status) = quarantine(&disk, 1 << 20);
    quarantine.resume(0);
    keep(&mut quarantine, 0, b"first");
    disk.fail_nth(1, Lasting::Once);
    quarantine.add(at(1), &reason(), b"second");
    quarantine.close_batch();
    keep(&mut quarantine, 2, b"third");
    let dropped = status.quarantine_dropped.load(Ordering::Relaxed);
    assert_eq!((dropped, offsets(&disk)), (1, vec![0, 2]));
}

#[test]
fn a_file_that_was_moved_away_or_emptied_is_begun_anew_with_the_next_line() {
    let disk = FaultyDisk::new(1);
    let (mut quarantine, status) = quarantine(&disk, 1 << 20);
    quarantine.resume(0);
    keep(&mut quarantine, 1, b"first");
    disk.rename(Path::new(PATH), Path::new("/data/quarantine/handled")).unwrap();
    keep(&mut quarantine, 2, b"second");
    assert_eq!(offsets(&disk), [2]);
    disk.remove(Path::new(PATH)).unwrap();
    keep(&mut quarantine, 3, b"third");
    assert_eq!(offsets(&disk), [3]);
    disk.open_append(Path::new(PATH)).unwrap().truncate(0).unwrap();
    keep(&mut quarantine, 4, b"fourth");
    keep(&mut quarantine, 5, b"fifth");
    assert_eq!(offsets(&disk), [4, 5]);
    assert_eq!(status.quarantine_dropped.load(Ordering::Relaxed), 0);
}

#[test]
fn a_resume_finds_the_end_of_what_was_committed_however_long_the_file_is() {
    let disk = FaultyDisk::new(1);
    let (mut first, _) = quarantine(&disk, 1 << 24);
    first.resume(0);
    // Entries of a third of what is read at once, and small ones between them.
    let long = vec![b'x'; super::CHUNK / 3];
    let mut offset = 0;
    for _ in 0..6 {
        for line in [&long[..], b"short", b""] {
            first.add(at(offset), &reason(), line);
            offset += 1;
        }
        first.close_batch();
    }
    assert_eq!(offsets(&disk).len(), 18);
    for committed in [5, 4, 1] {
        let (mut next, _) = quarantine(&disk, 1 << 24);
        next.resume(committed);
        assert_eq!(offsets(&disk), (0..3 * committed).collect::<Vec<_>>());
        assert_eq!(next.length, disk.open_read(Path::new(PATH)).unwrap().len().unwrap());
    }
}

#[test]
fn half_an_entry_is_cut_and_lines_of_others_stay() {
    let disk = FaultyDisk::new(1);
    let (mut first, _) = quarantine(&disk, 1 << 20);
    first.resume(0);
    keep(&mut first, 0, b"line");
    let file = disk.open_append(Path::new(PATH)).unwrap();
    file.append(b"{\"batch\":x,\"note\":1,\"offset\":9}\n").ok();
    file.append(b"{\"note\":2,\"offset\":7}\n{\"batch\":1,\"fi").ok();
    let (mut next, _) = quarantine(&disk, 1 << 20);
    next.resume(1);
    let file = disk.open_read(Path::new(PATH)).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    assert!(bytes.ends_with(b"x,\"note\":1,\"offset\":9}\n{\"note\":2,\"offset\":7}\n"));
}

#[test]
fn the_bound_counts_whole_entries_to_the_byte_also_over_a_restart() {
    let disk = FaultyDisk::new(1);
    let (mut measured, _) = quarantine(&disk, 1 << 20);
    measured.resume(0);
    keep(&mut measured, 0, b"line");
    let entry = measured.length;
    for (bytes_max, kept) in [
        (entry - 1, 0),
        (entry, 1),
        (2 * entry - 1, 1),
        (2 * entry, 2),
        (3 * entry - 1, 2),
        (3 * entry, 3),
        (3, 0),
        (0, 0),
    ] {
        let disk = FaultyDisk::new(1);
        let (mut one, status) = quarantine(&disk, bytes_max);
        one.resume(0);
        one.add(at(0), &reason(), b"line");
        one.add(at(1), &reason(), b"line");
        one.close_batch();
        let (mut next, next_status) = quarantine(&disk, bytes_max);
        next.resume(1);
        next.add(at(2), &reason(), b"line");
        next.close_batch();
        let found = if kept == 0 { 0 } else { offsets(&disk).len() };
        assert_eq!(found, kept, "{bytes_max} of {entry}");
        let dropped =
            [&status, &next_status].map(|it| it.quarantine_dropped.load(Ordering::Relaxed));
        assert_eq!(dropped.iter().sum::<u64>() as usize, 3 - kept, "{bytes_max} of {entry}");
    }
}

#[test]
fn a_batch_without_entries_has_nothing_to_sync_and_many_are_written_before_it_ends() {
    let disk = FaultyDisk::new(1);
    let (mut one, status) = quarantine(&disk, 1 << 24);
    one.resume(0);
    assert!(one.close_batch().is_none());
    keep(&mut one, 0, b"line");
    assert!(one.close_batch().is_none(), "only the batch before had one");
    let before = one.length;
    let line = vec![b'x'; 1_000];
    for offset in 1..=super::BUFFER as u64 / 1_000 {
        one.add(at(offset), &reason(), &line);
    }
    assert!(one.length >= before + super::BUFFER as u64, "they do not wait for its end");
    one.close_batch();
    for offset in 0..3 {
        one.add(at(offset), &reason(), b"line");
    }
    disk.fail_nth(1, Lasting::Once);
    one.close_batch();
    assert_eq!(status.quarantine_dropped.load(Ordering::Relaxed), 3, "each is counted");
}
