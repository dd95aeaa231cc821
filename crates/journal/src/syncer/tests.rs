//! Claims about what one sync makes durable, and what it takes for a failure.

use std::path::Path;

use stdx::{Disk, DiskFile, FaultyDisk};

use super::*;
use crate::durable::Written;
use crate::options::{Options, Sync};

/// A syncer of a journal whose second segment, from offset 60 on, has two lines of ten bytes.
fn fixture() -> (FaultyDisk, Syncer, Arc<dyn DiskFile>) {
    let disk = FaultyDisk::new(1);
    let (path, shared) = (Path::new("/journal"), Arc::new(disk.clone()));
    let hold = Hold::take(shared.clone(), path).unwrap();
    let file = disk.create(&Segment::plain(60).path(path)).unwrap();
    file.append(b"line 0001\nline 0002\n").unwrap();
    let durable = Durable::new(Sync::Always, 60);
    durable.wrote(&Written { file: &file, start: 60, end: 80 }, std::iter::empty());
    let syncer = Syncer {
        durable: Arc::new(durable),
        dir: Arc::new(JournalDir::new(shared.clone(), path.to_owned())),
        limit: Limit::new(shared.clone(), path),
        witness: Limit::witness(shared, path),
        hold: Arc::new(hold),
        intake: Arc::new(Intake::new(&Options::new(path))),
        counters: Arc::default(),
        alarms: Arc::default(),
    };
    (disk, syncer, file)
}

#[test]
fn a_segment_is_durable_with_its_name_and_its_name_only_the_first_time() {
    let (disk, syncer, _) = fixture();
    let mut job = syncer.durable.next_job().unwrap();
    let begun = disk.operations();
    syncer.sync(&job).unwrap();
    let first = disk.operations() - begun;
    let begun = disk.operations();
    job.named = true;
    syncer.sync(&job).unwrap();
    assert_eq!(disk.operations() - begun, first - 1);
    let disk = disk.crash();
    let found = disk.metadata(&Segment::plain(60).path(Path::new("/journal"))).unwrap();
    assert_eq!(found.len, 20);
}

#[test]
fn a_segment_that_somebody_cut_or_removed_counts_as_a_sync_that_failed() {
    for length in [0, 1, 19] {
        let (_, syncer, file) = fixture();
        let job = syncer.durable.next_job().unwrap();
        file.truncate(length).unwrap();
        let error = syncer.sync(&job).unwrap_err().to_string();
        assert_eq!(error, format!("somebody cut it to {length} of 20 bytes"));
    }
    let (disk, syncer, _) = fixture();
    let job = syncer.durable.next_job().unwrap();
    disk.remove(&Segment::plain(60).path(Path::new("/journal"))).unwrap();
    assert_eq!(syncer.sync(&job).unwrap_err().to_string(), "somebody removed it");
}
