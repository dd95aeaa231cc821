//! Claims about a log and the files that carry it.

use std::time::{Duration, Instant};

use stdx::FileIdentity;

use super::{Log, NewCarrier};
use crate::source::files::mark::Mark;
use crate::source::files::unpack::Packing;

fn log(read: &[u8]) -> Log {
    let mut mark = Mark::default();
    mark.advance(read);
    Log::new(mark)
}

fn file(name: &str, len: u64) -> NewCarrier {
    let identity = FileIdentity { device: 1, inode: 2, created_us: 3 };
    let packing = Packing::Plain;
    NewCarrier { name: name.to_owned(), identity, packing, len, order_us: 0, is_first: false }
}

#[test]
fn a_shorter_file_has_lost_what_was_there_and_not_read() {
    let now = Instant::now();
    let mut log = log(b"0123456789");
    log.seen = 25;
    assert_eq!(log.move_to(file("a", 20), now), 20..25);
    assert_eq!((log.seen, log.behind()), (20, 10));
    assert!(log.move_to(file("a", 30), now).is_empty());
    assert_eq!(log.seen, 30);
    log.seen = 8;
    assert!(log.move_to(file("a", 8), now).is_empty(), "what was read is not lost");
}

#[test]
fn a_log_under_another_name_is_rotated_and_stays_so() {
    let now = Instant::now();
    let mut log = log(b"0123456789");
    log.move_to(NewCarrier { is_first: true, ..file("a", 10) }, now);
    assert!(!log.file.is_rotated && log.rests());
    log.move_to(file("a", 10), now);
    assert!(!log.file.is_rotated);
    log.move_to(file("a.1", 10), now);
    assert!(log.file.is_rotated);
    log.move_to(file("a.1", 10), now);
    assert!(log.file.is_rotated);
}

#[test]
fn a_packed_file_is_rotated_and_rests_only_once_it_was_read_to_its_end() {
    let mut log = log(b"0123456789");
    log.seen = 15;
    let packed = NewCarrier { packing: Packing::Gzip, ..file("a.gz", 7) };
    assert!(log.move_to(packed, Instant::now()).is_empty(), "its length says nothing");
    assert_eq!((log.seen, log.file.len), (15, 0));
    log.mark.offset = 15;
    assert!(log.file.is_rotated && !log.rests());
    log.packed = Some((7, 1));
    assert!(log.rests());
}

#[test]
fn a_log_is_quiet_once_its_file_has_not_grown_for_so_long() {
    let (now, quiet) = (Instant::now(), Duration::from_secs(30));
    let mut log = log(b"");
    assert!(log.is_quiet(now, quiet), "no file of it was met");
    log.move_to(file("a", 5), now);
    assert!(!log.is_quiet(now + quiet / 2, quiet));
    assert!(log.is_quiet(now + quiet, quiet));
}
