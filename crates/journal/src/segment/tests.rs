//! Claims about segments.

use stdx::{FaultyDisk, Lasting};

use super::*;

#[test]
fn names_sort_by_offset_and_read_back() {
    let names = ["00000000000000000017.log", "00000000000000000100.log.zst"];
    for name in names {
        assert_eq!(Segment::from_name(name).unwrap().to_string(), name);
    }
    for name in ["17.log", "00000000000000000017.log.zst.tmp", "lock", "+0000000000000000017.log"] {
        assert_eq!(Segment::from_name(name), None, "{name}");
    }
}

#[test]
fn lists_each_segment_once_and_prefers_the_compressed_form() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/j");
    disk.create_dir_all(dir).unwrap();
    for segment in [Segment::plain(100), Segment::plain(0), Segment::compressed(0)] {
        disk.create(&segment.path(dir)).unwrap();
    }
    assert_eq!(list(&disk, dir).unwrap(), [Segment::compressed(0), Segment::plain(100)]);
}

#[test]
fn finds_the_last_complete_line_across_chunks() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/j");
    disk.create_dir_all(dir).unwrap();
    let file = disk.create(&dir.join("a")).unwrap();
    assert_eq!(length_of_lines(&*file).unwrap(), 0);
    file.append(&[b'x'; 70_000]).unwrap();
    assert_eq!(length_of_lines(&*file).unwrap(), 0);
    file.append(b"\n").unwrap();
    file.append(&vec![b'y'; 200_000]).unwrap();
    assert_eq!(length_of_lines(&*file).unwrap(), 70_001);
}

#[test]
fn a_compressed_segment_ends_after_its_last_complete_line_or_before_its_damage() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/j");
    disk.create_dir_all(dir).unwrap();
    let mut random = stdx::Random::new(1);
    let line = |_| format!("{:016x}{:016x}{:016x}\n", random.bits(), random.bits(), random.bits());
    let text: String = (0..8000).map(line).collect();
    let packed = zstd::encode_all(format!("{text}torn").as_bytes(), 3).unwrap();
    let length = |start, bytes: &[u8]| {
        let segment = Segment::compressed(start);
        disk.create(&segment.path(dir)).unwrap().append(bytes).unwrap();
        complete_length(&disk, dir, segment).unwrap()
    };
    assert_eq!(length(0, &packed), text.len() as u64);
    let before = length(1, &packed[..packed.len() / 2]);
    assert!((text.len() as u64 / 4..text.len() as u64 / 2).contains(&before), "{before}");
    assert_eq!(before % 49, 0, "it is the end of a line");
    assert_eq!(length(2, b"garbage"), 0);
}

#[test]
fn a_disk_that_cannot_read_a_segment_is_an_error_and_does_not_pass_for_damage() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/j");
    disk.create_dir_all(dir).unwrap();
    let packed = zstd::encode_all(&b"first\nsecond\n"[..], 3).unwrap();
    let segments = [(Segment::compressed(0), &packed[..]), (Segment::plain(13), b"third\nto")];
    for (segment, bytes) in segments {
        disk.create(&segment.path(dir)).unwrap().append(bytes).unwrap();
    }
    for (segment, length) in [(Segment::compressed(0), 13), (Segment::plain(13), 6)] {
        for nth in 1.. {
            let begun = disk.operations();
            disk.fail_nth(nth, Lasting::Once);
            let found = complete_length(&disk, dir, segment);
            if disk.operations() < begun + nth {
                assert!(found.unwrap() == length && nth > 2, "{segment}");
                break;
            }
            let error = found.expect_err("the disk refused").to_string();
            assert!(error.contains(&segment.to_string()), "operation {nth}: {error}");
        }
    }
    disk.heal();
    let error = complete_length(&disk, dir, Segment::compressed(99)).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
