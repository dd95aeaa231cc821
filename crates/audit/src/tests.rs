//! A trail on a disk in memory, for tests.

use std::path::Path;
use std::sync::Arc;

use stdx::{Disk, FaultyDisk, ManualClock};

use crate::actor::Actor;
use crate::entry::Kind;
use crate::files;
use crate::reading::{Reading, read};
use crate::trail::{Appended, Draft, Trail, TrailError};

pub(crate) const DIR: &str = "/data/audit";
const NOON: u64 = 1_795_780_800_000_000;

/// A trail with files of so many bytes.
pub(crate) fn trail(disk: &FaultyDisk, file_bytes_max: u64) -> Trail {
    let disk = Arc::new(disk.clone());
    Trail::new(DIR.into(), file_bytes_max, disk, Arc::new(ManualClock::at(NOON)))
}

/// Appends an entry.
pub(crate) fn append(
    trail: &Trail,
    kind: Kind,
    of: Option<u64>,
    what: &str,
) -> Result<Appended, TrailError> {
    let who = Actor { client: Some("127.0.0.1".into()), uid: Some(1000), ..Actor::default() };
    let result = (kind == Kind::Ended).then_some("done");
    trail.append(&Draft { kind, of, who: &who, action: "purge", what, result })
}

/// Appends so many actions, each two entries.
pub(crate) fn fill(trail: &Trail, actions: u32) {
    for number in 0..actions {
        let begun = append(trail, Kind::Begun, None, &format!("url=/{number}")).unwrap();
        append(trail, Kind::Ended, Some(begun.number), "").unwrap();
    }
}

/// What a file holds.
pub(crate) fn bytes(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open_read(&Path::new(DIR).join(name)).unwrap();
    files::read_from(&*file, 0).unwrap()
}

/// Puts other bytes into a file.
pub(crate) fn put(disk: &dyn Disk, name: &str, bytes: &[u8]) {
    let file = disk.open_write(&Path::new(DIR).join(name)).unwrap();
    file.truncate(0).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// The lines of a file, each with its end.
pub(crate) fn lines(disk: &dyn Disk, name: &str) -> Vec<Vec<u8>> {
    let bytes = bytes(disk, name);
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Reads the trail.
pub(crate) fn reading(disk: &FaultyDisk) -> Reading {
    read(Path::new(DIR), disk).unwrap()
}

/// Reads the trail, which must have no break.
pub(crate) fn whole(disk: &FaultyDisk) -> Reading {
    let reading = reading(disk);
    assert_eq!(reading.breaks, [], "the chain holds");
    reading
}

/// The breaks, as they are printed.
pub(crate) fn breaks(disk: &FaultyDisk) -> Vec<String> {
    reading(disk).breaks.iter().map(ToString::to_string).collect()
}
