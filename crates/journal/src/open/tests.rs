//! Claims about what is left of the files of a journal after a crash.

use stdx::{FaultyDisk, Lasting};

use super::*;

fn dir() -> &'static Path {
    Path::new("/journal")
}

fn create(disk: &FaultyDisk, name: &str, bytes: &[u8]) {
    disk.create(&dir().join(name)).unwrap().append(bytes).unwrap();
}

/// A disk with plain segments: each has its offset and its text.
fn disk_with(segments: &[(u64, &str)]) -> FaultyDisk {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(dir()).unwrap();
    for (start, text) in segments {
        create(&disk, &Segment::plain(*start).to_string(), text.as_bytes());
    }
    disk
}

/// The names and the lengths of the files.
fn files(disk: &FaultyDisk) -> Vec<(String, u64)> {
    let mut names = disk.list(dir()).unwrap();
    names.sort();
    let length = |name: &String| disk.metadata(&dir().join(name)).unwrap().len;
    names.iter().map(|name| (name.clone(), length(name))).collect()
}

#[test]
fn a_torn_end_is_cut_and_counted_and_newest_segments_without_a_line_are_removed() {
    type Texts = &'static [(u64, &'static str)];
    type Lengths = &'static [(u64, u64)];
    let cases: [(Texts, [u64; 3], Lengths); 9] = [
        (&[], [0, 0, 0], &[]),
        (&[(0, "line\n")], [0, 5, 0], &[(0, 5)]),
        (&[(0, "line\ntorn")], [0, 5, 4], &[(0, 5)]),
        (&[(0, "torn")], [0, 0, 4], &[(0, 0)]),
        (&[(5, "line\n"), (10, "line\nto")], [5, 15, 2], &[(5, 5), (10, 5)]),
        (&[(5, "line\n"), (10, "torn")], [5, 10, 4], &[(5, 5)]),
        (&[(5, "line\n"), (10, "torn"), (12, "")], [5, 10, 4], &[(5, 5)]),
        // The name says where the journal ends.
        (&[(70, "")], [70, 70, 0], &[(70, 0)]),
        (&[(70, "torn"), (74, "to")], [70, 70, 6], &[(70, 0)]),
    ];
    for (segments, [first, end, dropped_bytes], left) in cases {
        let disk = disk_with(segments);
        let found = recover(&disk, dir()).unwrap();
        let found = [found.first, found.end, found.dropped_bytes];
        assert_eq!(found, [first, end, dropped_bytes], "{segments:?}");
        let name = |(start, length): &(u64, u64)| (Segment::plain(*start).to_string(), *length);
        let left: Vec<_> = left.iter().map(name).collect();
        assert_eq!(files(&disk), left, "{segments:?}");
        assert_eq!(files(&disk.crash()), left, "it is durable: {segments:?}");
    }
}

#[test]
fn what_a_compression_left_is_removed_and_a_damaged_newest_segment_is_set_aside() {
    let disk = disk_with(&[(0, "line\n"), (5, "line\n")]);
    let packed = zstd::encode_all(&b"line\n"[..], 3).unwrap();
    create(&disk, "00000000000000000000.log.zst", &packed);
    create(&disk, "00000000000000000005.log.zst.tmp", &packed[..3]);
    create(&disk, "00000000000000000010.log.zst", b"garbage");
    create(&disk, "notes", b"of somebody");
    let found = recover(&disk, dir()).unwrap();
    assert_eq!([found.first, found.end, found.dropped_bytes], [0, 10, 0]);
    let names: Vec<_> = files(&disk).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "00000000000000000000.log.zst",
        "00000000000000000005.log",
        "00000000000000000010.log.zst.damaged",
        "notes",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_disk_that_fails_as_the_journal_is_repaired_costs_no_line_that_was_there() {
    for nth in 1.. {
        let disk = disk_with(&[(0, "line\n"), (5, "line\ntorn"), (10, "to")]);
        let begun = disk.operations();
        disk.fail_nth(nth, Lasting::Once);
        let outcome = recover(&disk, dir());
        if disk.operations() < begun + nth {
            assert!(outcome.is_ok() && nth > 8, "it looks at the disk");
            return;
        }
        assert!(outcome.is_err(), "operation {nth}");
        let found = recover(&disk, dir()).unwrap();
        assert_eq!([found.first, found.end], [0, 10], "operation {nth}");
    }
}
