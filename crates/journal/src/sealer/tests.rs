//! Claims about one segment after the other being compressed, without the thread that does it.

use std::path::Path;

use stdx::{Disk, FaultyDisk, Lasting};

use super::*;
use crate::durable::Durable;
use crate::health::Counters;
use crate::open::recover;
use crate::options::Options;

/// A sealer of a journal with a segment from offset 10 on, of 18 bytes, and one behind it.
fn fixture() -> (FaultyDisk, Sealer) {
    let disk = FaultyDisk::new(1);
    let path = Path::new("/journal");
    disk.create_dir_all(path).unwrap();
    let mut options = Options::new(path);
    options.clock = Arc::new(disk.clock());
    let dir = Arc::new(JournalDir::new(Arc::new(disk.clone()), path.to_owned()));
    let counters = Arc::new(Counters::from_offset(37));
    let backlog = Arc::new(Backlog::new(dir.clone(), counters, &options));
    let retention = Retention {
        dir: dir.clone(),
        durable: Arc::new(Durable::new(options.sync, 37)),
        keep: options.keep,
        clock: options.clock,
        backlog: backlog.clone(),
    };
    for (start, text) in [(10, "1st line\n2nd line\n"), (28, "3rd line\n")] {
        disk.create(&Segment::plain(start).path(path)).unwrap().append(text.as_bytes()).unwrap();
    }
    let (bell, alarms) = (Arc::default(), Arc::default());
    (disk, Sealer { dir, retention: Arc::new(retention), bell, alarms, backlog })
}

fn names(disk: &FaultyDisk) -> Vec<String> {
    let mut names = disk.list(Path::new("/journal")).unwrap();
    names.sort();
    names
}

/// What the compressed segment unpacks to.
fn unpacked(disk: &FaultyDisk) -> String {
    let path = Segment::compressed(10).path(Path::new("/journal"));
    let file = disk.open_read(&path).unwrap();
    let mut packed = Vec::new();
    FileReader { file, at: 0 }.read_to_end(&mut packed).unwrap();
    String::from_utf8(zstd::decode_all(&*packed).unwrap()).unwrap()
}

/// The names once all but the newest segment is compressed.
fn sealed() -> Vec<String> {
    vec![Segment::compressed(10).to_string(), Segment::plain(28).to_string()]
}

#[test]
fn a_segment_is_compressed_up_to_the_start_of_the_next_one_and_the_newest_left_alone() {
    let (disk, sealer) = fixture();
    // A writer whose lock was removed has left more.
    let file = disk.open_append(&Segment::plain(10).path(sealer.dir.path())).unwrap();
    file.append(b"of nobody\n").unwrap();
    sealer.compress_sealed().unwrap();
    assert_eq!((names(&disk), unpacked(&disk).as_str()), (sealed(), "1st line\n2nd line\n"));
}

#[test]
fn a_disk_that_fails_at_any_step_costs_no_line_and_the_next_round_compresses_it() {
    let mut errors = 0;
    for nth in 1.. {
        let (disk, sealer) = fixture();
        let begun = disk.operations();
        disk.fail_nth(nth, Lasting::Once);
        errors += u32::from(sealer.compress_sealed().is_err());
        if disk.operations() < begun + nth {
            assert!(nth > 8, "it looks at the disk");
            // What cannot be looked at counts as deleted, and the next round looks again.
            assert_eq!(u64::from(errors), nth - 2);
            return;
        }
        sealer.compress_sealed().unwrap();
        // A plain form beside the compressed one goes when the journal is opened.
        recover(&disk, sealer.dir.path()).map(drop).unwrap();
        assert_eq!((names(&disk), unpacked(&disk).as_str()), (sealed(), "1st line\n2nd line\n"));
    }
}

#[test]
fn a_segment_that_was_deleted_meanwhile_is_no_error_and_stays_deleted() {
    let (disk, sealer) = fixture();
    disk.remove(&Segment::plain(10).path(sealer.dir.path())).unwrap();
    sealer.compress(10, 28).unwrap();
    assert_eq!(names(&disk), [Segment::plain(28).to_string()]);
}

#[test]
fn a_closing_journal_leaves_a_segment_as_it_was() {
    let (disk, sealer) = fixture();
    let before = names(&disk);
    sealer.bell.close();
    sealer.compress_sealed().unwrap();
    sealer.compress(10, 28).unwrap();
    assert_eq!(names(&disk), before);
}
