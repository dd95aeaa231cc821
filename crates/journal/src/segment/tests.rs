//! Claims about segments.

use stdx::FaultyDisk;

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
