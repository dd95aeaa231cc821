//! Claims about which segments go, and why the others stay.

use std::path::Path;
use std::time::Duration;

use stdx::{Disk, FaultyDisk, Lasting};

use super::*;
use crate::consumer::{Bookmark, Consumer};
use crate::health::Counters;
use crate::options::Options;
use crate::segment::{self, Segment};

const MINUTE: Duration = Duration::from_secs(60);
const FOR_GOOD: Duration = Duration::MAX;

fn path() -> &'static Path {
    Path::new("/journal")
}

/// A journal of so many segments of 1,000 bytes, one a minute; lines up to `synced` are durable.
fn fixture(segments: u64, keep: Keep, synced: u64) -> (FaultyDisk, Retention) {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(path()).unwrap();
    for start in (0..segments).map(|nth| nth * 1000) {
        let file = disk.create(&Segment::plain(start).path(path())).unwrap();
        file.append(&[b'x'; 1000]).unwrap();
        disk.clock().advance(MINUTE);
    }
    let mut options = Options::new(path());
    (options.keep, options.clock) = (keep, Arc::new(disk.clock()));
    let dir = Arc::new(JournalDir::new(Arc::new(disk.clone()), path().to_owned()));
    let counters = Arc::new(Counters::from_offset(segments * 1000));
    let backlog = Arc::new(Backlog::new(dir.clone(), counters, &options));
    let durable = Arc::new(Durable::new(options.sync, synced));
    let clock = options.clock;
    (disk, Retention { dir, durable, keep, clock, backlog })
}

fn left(disk: &FaultyDisk) -> Vec<u64> {
    segment::list(disk, path()).unwrap().iter().map(|segment| segment.start).collect()
}

fn full(reason: &str) -> Result<(), String> {
    Err(format!("the byte cap of 2500 is reached: {reason}"))
}

#[test]
fn the_oldest_segments_go_until_there_is_room_but_none_before_a_later_line_is_durable() {
    let keep = Keep { age: FOR_GOOD, bytes: 2500 };
    let not_durable = || full("later lines are not durable yet");
    let cases = [
        (0, 3000, &[1000, 2000][..], Ok(())),
        (500, 3000, &[1000, 2000], Ok(())),
        (501, 3000, &[2000], Ok(())),
        (1500, 3000, &[2000], Ok(())),
        // Only the newest is left, of which nobody needs a line.
        (9000, 3000, &[2000], Ok(())),
        (0, 1001, &[1000, 2000], Ok(())),
        (0, 1000, &[0, 1000, 2000], not_durable()),
        (501, 2000, &[1000, 2000], not_durable()),
        (u64::MAX, 0, &[0, 1000, 2000], not_durable()),
        (9000, 2999, &[2000], full("the newest segment fills it, and is not durable yet")),
    ];
    for (bytes, synced, stay, outcome) in cases {
        let (disk, retention) = fixture(3, keep, synced);
        assert_eq!(retention.make_room(bytes), outcome, "{bytes} more, {synced} durable");
        assert_eq!(left(&disk), stay, "{bytes} more, {synced} durable");
    }
}

#[test]
fn what_the_slowest_consumer_has_not_read_stays_and_a_bookmark_keeps_nothing() {
    let keep = Keep { age: FOR_GOOD, bytes: 2500 };
    let unread = |offset| full(&format!("consumer `slow` has not read past offset {offset}"));
    let cases = [
        (0, 999, &[0, 1000, 2000][..], unread(999)),
        (0, 1000, &[1000, 2000], Ok(())),
        (501, 1999, &[1000, 2000], unread(1999)),
        (501, 2000, &[2000], Ok(())),
        (9000, 2999, &[2000], unread(2999)),
        (9000, 3000, &[2000], Ok(())),
    ];
    for (bytes, offset, stay, outcome) in cases {
        let (disk, retention) = fixture(3, keep, 3000);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        Consumer::register(path(), "fast", 3000, shared.clone()).unwrap();
        Consumer::register(path(), "slow", offset, shared.clone()).unwrap();
        Bookmark::new(path(), "reader", shared).unwrap().set(0).unwrap();
        assert_eq!(retention.make_room(bytes), outcome, "{bytes} more, read to {offset}");
        assert_eq!(left(&disk), stay, "{bytes} more, read to {offset}");
        let deleted = retention.backlog.unread().unwrap().pop().unwrap().deleted_bytes;
        assert_eq!(deleted, stay[0], "what the bookmark has lost is counted");
    }
}

#[test]
fn segments_go_at_their_age_and_those_that_must_stay_are_no_error_below_the_cap() {
    // The segments were written three, two and one minutes ago.
    let cases = [
        (3 * MINUTE + Duration::from_micros(1), 3000, &[0, 1000, 2000][..]),
        (3 * MINUTE, 3000, &[1000, 2000]),
        (2 * MINUTE, 3000, &[2000]),
        // The newest stays.
        (MINUTE, 3000, &[2000]),
        (MINUTE, 1000, &[0, 1000, 2000]),
    ];
    for (age, synced, stay) in cases {
        let (disk, retention) = fixture(3, Keep { age, bytes: 3000 }, synced);
        assert_eq!((retention.make_room(0), left(&disk)), (Ok(()), stay.to_vec()), "{age:?}");
    }
}

#[test]
fn a_disk_that_fails_keeps_all_segments_and_the_reason_is_said() {
    for nth in 1.. {
        let (disk, retention) = fixture(3, Keep { age: FOR_GOOD, bytes: 2500 }, 3000);
        let begun = disk.operations();
        disk.fail_nth(nth, Lasting::Once);
        let outcome = retention.make_room(0);
        if disk.operations() < begun + nth {
            assert!(outcome.is_ok() && nth > 5, "it looks at the disk");
            return;
        }
        let error = outcome.expect_err("the disk refused");
        assert!(error.ends_with("(os error 5)"), "operation {nth}: {error}");
        assert_eq!(left(&disk).len(), 3, "operation {nth}");
    }
}
