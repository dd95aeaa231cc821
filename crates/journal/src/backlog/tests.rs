//! Claims about what is said of unread lines: how much, how near the bound, for how long.

mod figures;
mod log;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stdx::{Disk, FaultyDisk};

use super::{Backlog, Unread};
use crate::consumer::{self, Bookmark, Consumer};
use crate::dir::JournalDir;
use crate::health::Counters;
use crate::options::{Keep, Options};
use crate::segment::Segment;

const MINUTE: Duration = Duration::from_secs(60);

/// A journal of plain segments of 1,000 bytes, of which 5,000 bytes are kept; one is open.
struct Fixture {
    disk: FaultyDisk,
    counters: Arc<Counters>,
    backlog: Backlog,
}

impl Fixture {
    fn new(age: Duration) -> Self {
        let disk = FaultyDisk::new(1);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        shared.create_dir_all(&path()).unwrap();
        let mut options = Options::new(path());
        options.segment_bytes_max = 1000;
        options.keep = Keep { age, bytes: 5000 };
        options.clock = Arc::new(disk.clock());
        let counters = Arc::new(Counters::default());
        let dir = Arc::new(JournalDir::new(shared, path()));
        let backlog = Backlog::new(dir, counters.clone(), &options);
        backlog.watch();
        Self { disk, counters, backlog }
    }

    fn shared(&self) -> Arc<dyn Disk> {
        Arc::new(self.disk.clone())
    }

    /// Writes the next segments, one a minute.
    fn write(&self, segments: u64) {
        for _ in 0..segments {
            let start = self.counters.offset.fetch_add(1000, Ordering::Relaxed);
            let file = self.disk.create(&Segment::plain(start).path(&path())).unwrap();
            file.append(&[b'x'; 1000]).unwrap();
            self.disk.clock().advance(MINUTE);
            self.backlog.watch();
        }
    }

    fn delete(&self, start: u64) {
        let positions = consumer::positions(&self.disk, &path()).unwrap();
        self.disk.remove(&Segment::plain(start).path(&path())).unwrap();
        self.backlog.deleted(&positions, start..start + 1000);
    }

    fn unread(&self) -> Unread {
        let mut unread = self.backlog.unread().unwrap();
        assert_eq!(unread.len(), 1, "{unread:?}");
        unread.remove(0)
    }
}

fn path() -> PathBuf {
    PathBuf::from("/journal")
}

#[test]
fn a_consumer_is_an_alarm_before_the_journal_is_full_for_it() {
    let fixture = Fixture::new(Duration::MAX);
    let consumer = Consumer::register(&path(), "events-main", 0, fixture.shared()).unwrap();
    fixture.write(3);
    let unread = fixture.unread();
    assert_eq!((unread.bytes, unread.of_bytes, unread.keeps), (3000, 0.75, true));
    assert_eq!(unread.alarms(), [""; 0]);
    fixture.write(1);
    // 4,000 bytes in four minutes: there is no room for one more segment.
    let expected = "consumer `events-main` has not read 4KB, 100 % of `keep.bytes`, and new lines \
                    are not recorded in 0s at the present rate";
    assert_eq!(fixture.unread().alarms(), [expected]);
    consumer.commit(700).unwrap();
    let unread = fixture.unread();
    assert_eq!((unread.bytes, unread.time_left), (3300, Some(Duration::from_secs(42))));
    assert_eq!(unread.alarms().len(), 1, "{unread:?}");
    consumer.commit(4000).unwrap();
    let unread = fixture.unread();
    assert_eq!((unread.bytes, unread.of_bytes, unread.time_left), (0, 0.0, None));
    assert_eq!(unread.alarms(), [""; 0]);
}

#[test]
fn what_is_deleted_beyond_a_bookmark_is_counted_and_an_alarm_for_a_day() {
    let fixture = Fixture::new(Duration::MAX);
    let bookmark = Bookmark::new(&path(), "profiles", fixture.shared()).unwrap();
    bookmark.set(400).unwrap();
    fixture.write(4);
    let alarm = fixture.unread().alarms().remove(0);
    assert!(
        alarm.contains("reader `profiles` has not read 3.6KB, 90 % of `keep.bytes`"),
        "{alarm}"
    );
    assert!(alarm.ends_with("they are deleted in 24s at the present rate"), "{alarm}");
    fixture.delete(0);
    fixture.delete(1000);
    assert_eq!(fixture.unread().deleted_bytes, 1600);
    bookmark.set(4000).unwrap();
    let expected = "reader `profiles`: 1.6KB were deleted unread, the last 0s ago";
    assert_eq!(fixture.unread().alarms(), [expected]);
    fixture.disk.clock().advance(24 * 60 * MINUTE);
    assert_eq!(fixture.unread().alarms(), [""; 0]);
    assert_eq!(fixture.unread().deleted_bytes, 1600, "it is counted for good");
    bookmark.remove();
    assert_eq!(fixture.backlog.unread().unwrap(), []);
}

#[test]
fn the_age_of_unread_lines_is_an_alarm_too() {
    let fixture = Fixture::new(100 * MINUTE);
    let consumer = Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
    fixture.write(1);
    fixture.disk.clock().advance(84 * MINUTE);
    let expected = "consumer `main` has not read 1KB, 85 % of `keep.age`, and lines are kept for \
                    it past their age in 15m";
    assert_eq!(fixture.unread().alarms(), [expected]);
    consumer.commit(1000).unwrap();
    assert_eq!(fixture.unread().alarms(), [""; 0]);
    drop(consumer);
    fixture.disk.remove(&path().join("consumers/main")).unwrap();
    Bookmark::new(&path(), "profiles", fixture.shared()).unwrap().set(0).unwrap();
    let alarm = fixture.unread().alarms().remove(0);
    assert!(alarm.contains("85 % of `keep.age`, and they are deleted in 15m"), "{alarm}");
}

#[test]
fn the_time_left_is_said_to_the_second_then_to_the_minute_then_to_the_hour() {
    let said = |seconds| {
        let time_left = Some(Duration::from_secs(seconds));
        let unread = Unread { time_left, of_bytes: 0.9, ..nobody() };
        let alarm = unread.alarms().remove(0);
        let (_, when) = alarm.split_once(" are not recorded in ").unwrap();
        when.strip_suffix(" at the present rate").unwrap().to_owned()
    };
    assert_eq!([0, 59, 599].map(said), ["0s", "59s", "9m 59s"]);
    assert_eq!([600, 659, 35_999].map(said), ["10m", "10m", "9h 59m"]);
    assert_eq!([36_000, 39_599, 93_599].map(said), ["10h", "10h", "1 day 1h"]);
}

/// A consumer that has nothing to read.
fn nobody() -> Unread {
    Unread {
        name: "main".to_owned(),
        keeps: true,
        offset: 0,
        bytes: 0,
        of_bytes: 0.0,
        of_age: 0.0,
        time_left: None,
        deleted_bytes: 0,
        deleted_ago: None,
    }
}

#[test]
fn the_rate_is_that_of_the_last_ten_samples_ten_seconds_apart() {
    let fixture = Fixture::new(Duration::MAX);
    Bookmark::new(&path(), "profiles", fixture.shared()).unwrap().set(0).unwrap();
    let rest = |by| {
        fixture.disk.clock().advance(by);
        fixture.backlog.watch();
    };
    // In the first minute one segment of the four for which there is room.
    fixture.write(1);
    (0..20).for_each(|_| rest(Duration::ZERO));
    (0..8).for_each(|_| rest(MINUTE));
    assert_eq!(fixture.unread().time_left, Some(3 * 9 * MINUTE));
    rest(Duration::from_secs(9));
    let left = fixture.unread().time_left;
    assert_eq!(left, Some(3 * (9 * MINUTE + Duration::from_secs(9))), "too early for a sample");
    rest(Duration::from_secs(1));
    assert_eq!(fixture.unread().time_left, None, "nothing was written for ten samples");
}
