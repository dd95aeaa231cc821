//! Claims about the bytes of segments: whole, cut, damaged, or on a disk that fails.

use std::path::Path;

use stdx::{FaultyDisk, Lasting};

use super::*;

/// A plain segment from offset 100 on, and a compressed one from 200 on, with the same 30 bytes.
fn fixture() -> (FaultyDisk, SegmentFiles) {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    let packed = zstd::encode_all(text(), 3).unwrap();
    for (segment, bytes) in [(Segment::plain(100), text()), (Segment::compressed(200), &packed)] {
        disk.create(&segment.path(dir)).unwrap().append(bytes).unwrap();
    }
    (disk.clone(), SegmentFiles { disk: Arc::new(disk), dir: dir.to_owned() })
}

fn text() -> &'static [u8] {
    b"line 0001\nline 0002\nline 0003\n"
}

fn segments() -> [Segment; 2] {
    [Segment::plain(100), Segment::compressed(200)]
}

#[test]
fn bytes_come_from_any_offset_and_fewer_at_the_end() {
    let (_, files) = fixture();
    for segment in segments() {
        for (at, length, range) in [
            (0, 10, 0..10),
            (3, 4, 3..7),
            (20, 10, 20..30),
            (25, 10, 25..30),
            (30, 10, 30..30),
            (0, 99, 0..30),
            (7, 0, 7..7),
        ] {
            let found = files.bytes_at(segment, segment.start + at, length).unwrap();
            assert_eq!(found, text()[range], "{segment} at {at}");
        }
    }
}

#[test]
fn of_a_damaged_compressed_segment_the_bytes_before_the_damage_come_and_nothing_is_opened() {
    let (disk, files) = fixture();
    let [_, packed] = segments();
    let file = disk.open_write(&packed.path(&files.dir)).unwrap();
    let is_refused = || {
        matches!(
            files.open_proved(packed, None, 200),
            Err(JournalError::Disk { source, .. }) if is_damage(&source)
        )
    };
    assert!(!is_refused());
    file.truncate(file.len().unwrap() - 1).unwrap();
    assert!(is_refused());
    let found = files.bytes_at(packed, 200, 30).unwrap();
    assert!(text().starts_with(&found), "{found:?}");
    file.write_at(b"garbage", 0).unwrap();
    assert!(is_refused());
    assert_eq!(files.bytes_at(packed, 200, 30).unwrap(), b"");
    assert_eq!(files.bytes_at(packed, 210, 30).unwrap(), b"");
}

#[test]
fn a_disk_that_fails_is_an_error_and_passes_neither_for_damage_nor_for_the_end() {
    for segment in segments() {
        for nth in 1.. {
            let (disk, files) = fixture();
            let begun = disk.operations();
            disk.fail_nth(nth, Lasting::Once);
            let found = files.bytes_at(segment, segment.start + 3, 20);
            if disk.operations() < begun + nth {
                assert!(found.unwrap().len() == 20 && nth > 2, "{segment}");
                break;
            }
            let Err(JournalError::Disk { source, .. }) = found else { panic!("{found:?}") };
            assert!(!is_damage(&source), "{segment}, operation {nth}: {source}");
        }
        let (_, files) = fixture();
        let gone = Segment { start: 300, ..segment };
        assert!(files.bytes_at(gone, 300, 1).unwrap_err().is_not_found());
    }
}

#[test]
fn a_directory_that_is_not_there_has_no_segments_and_one_that_cannot_be_listed_is_an_error() {
    let (disk, files) = fixture();
    assert_eq!(files.list().unwrap(), segments());
    assert_eq!(files.end_of(&segments()).unwrap(), 230);
    assert_eq!(files.end_of(&segments()[..1]).unwrap(), 130);
    let elsewhere = SegmentFiles { dir: "/elsewhere".into(), ..files };
    assert_eq!(elsewhere.list().unwrap(), []);
    assert_eq!(elsewhere.end_of(&[]).unwrap(), 0);
    disk.fail_nth(1, Lasting::Once);
    assert!(elsewhere.list().is_err());
}
