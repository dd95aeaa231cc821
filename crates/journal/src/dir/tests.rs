//! Claims about what somebody else did to the segments.

use std::path::Path;

use stdx::{FaultyDisk, Lasting};

use super::*;
use crate::tests::vanishing::VanishingDisk;

const EIO: i32 = 5;

/// A directory with the segment 0 of six bytes, which is being written.
fn fixture() -> (FaultyDisk, JournalDir, Arc<dyn DiskFile>) {
    let disk = FaultyDisk::new(1);
    let dir = JournalDir::new(Arc::new(disk.clone()), "/journal".into());
    disk.create_dir_all(dir.path()).unwrap();
    let file = create(&disk, &plain(&dir));
    (disk, dir, file)
}

fn create(disk: &FaultyDisk, path: &Path) -> Arc<dyn DiskFile> {
    let file = disk.create(path).unwrap();
    file.append(b"line1\n").unwrap();
    file
}

fn plain(dir: &JournalDir) -> PathBuf {
    Segment::plain(0).path(dir.path())
}

fn compressed(dir: &JournalDir) -> PathBuf {
    Segment::compressed(0).path(dir.path())
}

#[test]
fn a_segment_is_expected_whole_and_under_its_name_or_compressed() {
    type Change = fn(&FaultyDisk, &JournalDir, &dyn DiskFile);
    let cases: [(Change, Result<u64, &str>); 6] = [
        (|_, _, _| (), Ok(6)),
        (|_, _, file| drop(file.append(b"line2\n")), Ok(12)),
        (|_, _, file| file.truncate(5).unwrap(), Err("somebody cut it to 5 of 6 bytes")),
        (|disk, dir, _| disk.remove(&plain(dir)).unwrap(), Err("somebody removed it")),
        (|disk, dir, _| disk.rename(&plain(dir), &compressed(dir)).unwrap(), Ok(6)),
        (
            |disk, dir, _| {
                disk.remove(&plain(dir)).unwrap();
                create(disk, &plain(dir));
            },
            Err("somebody put another file in its place"),
        ),
    ];
    for (change, expected) in cases {
        let (disk, dir, file) = fixture();
        change(&disk, &dir, &*file);
        let found = dir.expect_segment(0, &*file, 6).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }
}

#[test]
fn a_disk_that_cannot_say_whether_a_segment_is_there_is_an_error() {
    let (disk, dir, file) = fixture();
    // It would be there in the other form.
    create(&disk, &compressed(&dir));
    for nth in [1, 2] {
        disk.fail_nth(nth, Lasting::Once);
        let error = dir.expect_segment(0, &*file, 6).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(EIO), "operation {nth}");
        disk.fail_nth(nth, Lasting::Once);
        let error = dir.sizes().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(EIO), "operation {nth}");
    }
}

#[test]
fn a_segment_that_goes_away_before_it_is_looked_at_has_no_size() {
    let dir = JournalDir::new(Arc::<VanishingDisk>::default(), "/journal".into());
    assert_eq!(dir.segments().unwrap().len(), 1);
    assert_eq!(dir.sizes().unwrap(), []);
}
