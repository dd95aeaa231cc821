//! Claims about the figures of unread lines: shares, ages, rates, and what is made of them.

use super::*;

/// The same, with one segment of a quarter of its bytes, which is compressed.
fn compressed() -> Fixture {
    let fixture = Fixture::new(Duration::MAX);
    fixture.write(2);
    fixture.disk.remove(&Segment::plain(0).path(&path())).unwrap();
    let file = fixture.disk.create(&Segment::compressed(0).path(&path())).unwrap();
    file.append(&[b'x'; 250]).unwrap();
    fixture
}

#[test]
fn what_is_unread_counts_as_it_is_on_disk_and_so_does_what_is_written() {
    let fixture = compressed();
    let consumer = Consumer::register(&path(), "main", 400, fixture.shared()).unwrap();
    let unread = fixture.unread();
    // Of the first segment, 600 bytes take 150.
    assert_eq!((unread.bytes, unread.of_bytes), (1600, 1150.0 / 4000.0));
    // In two minutes 2,000 bytes came, which take 1,250.
    let left = (4000.0 - 1150.0) / (2000.0 / 120.0 * 1250.0 / 2000.0);
    assert_eq!(unread.time_left, Duration::try_from_secs_f64(left).ok());
    consumer.commit(1000).unwrap();
    assert_eq!((fixture.unread().bytes, fixture.unread().of_bytes), (1000, 0.25));
}

#[test]
fn an_age_is_that_of_the_first_segment_with_an_unread_byte() {
    let fixture = Fixture::new(100 * MINUTE);
    let consumer = Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
    fixture.write(3);
    let ages = [0, 999, 1000, 2999, 3000].map(|offset| {
        consumer.commit(offset).unwrap();
        (fixture.unread().of_age * 100.0).round()
    });
    assert_eq!(ages, [3.0, 3.0, 2.0, 1.0, 0.0]);
}

#[test]
fn lines_are_lost_to_a_bookmark_by_bytes_or_by_age_whichever_comes_first() {
    for (age, minutes_left) in [(100, 2), (4, 2), (3, 1)] {
        let fixture = Fixture::new(age * MINUTE);
        let bookmark = Bookmark::new(&path(), "profiles", fixture.shared()).unwrap();
        bookmark.set(0).unwrap();
        // At 1,000 bytes a minute the other half is full in two minutes.
        fixture.write(2);
        assert_eq!(fixture.unread().time_left, Some(minutes_left * MINUTE), "kept {age} minutes");
        bookmark.set(2000).unwrap();
        assert_eq!(fixture.unread().time_left, None, "it has read all");
    }
}

#[test]
fn a_consumer_is_told_of_the_bound_that_it_is_nearer_to_and_of_bytes_where_both_are_as_near() {
    for (age, minutes_left) in [(9, 2), (4, 2), (3, 1)] {
        let fixture = Fixture::new(age * MINUTE);
        Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
        fixture.write(2);
        assert_eq!(fixture.unread().time_left, Some(minutes_left * MINUTE), "kept {age} minutes");
    }
}

#[test]
fn a_rate_is_known_once_lines_were_counted_for_a_second() {
    let fixture = Fixture::new(Duration::MAX);
    Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
    fixture.counters.offset.fetch_add(1000, Ordering::Relaxed);
    let file = fixture.disk.create(&Segment::plain(0).path(&path())).unwrap();
    file.append(&[b'x'; 1000]).unwrap();
    let left = [0, 999, 1].map(|milliseconds| {
        fixture.disk.clock().advance(Duration::from_millis(milliseconds));
        fixture.unread().time_left
    });
    assert_eq!(left, [None, None, Some(Duration::from_secs(3))]);
}

#[test]
fn an_alarm_begins_at_four_fifths_and_names_who_reads_the_bound_and_what_comes_then() {
    let alarms = |keeps, of_bytes, of_age, left: Option<u64>| {
        let time_left = left.map(Duration::from_secs);
        Unread { keeps, bytes: 1000, of_bytes, of_age, time_left, ..nobody() }.alarms()
    };
    for (of_bytes, of_age) in [(0.0, 0.0), (0.79, 0.79)] {
        assert_eq!(alarms(true, of_bytes, of_age, Some(9)), [""; 0]);
    }
    let cases = [
        (
            alarms(true, 0.8, 0.8, Some(9)),
            "80 % of `keep.bytes`, and new lines are not recorded in 9s at the present rate",
        ),
        (
            alarms(true, 0.8, 0.9, Some(9)),
            "90 % of `keep.age`, and lines are kept for it past their age in 9s",
        ),
        (
            alarms(true, 1.2, 0.9, None),
            "120 % of `keep.bytes`, beyond which new lines are not recorded",
        ),
        (alarms(false, 0.9, 0.1, None), "90 % of `keep.bytes`, beyond which they are deleted"),
        (alarms(false, 0.1, 0.9, Some(9)), "90 % of `keep.age`, and they are deleted in 9s"),
    ];
    for (alarms, expected) in cases {
        let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
        let (who, what) = alarm.split_once(" has not read 1KB, ").unwrap();
        assert_eq!(what, expected);
        assert_eq!(who == "reader `main`", what.contains("deleted"), "{who}");
    }
}

#[test]
fn a_segment_that_a_bookmark_had_read_is_deleted_without_a_word() {
    let fixture = Fixture::new(Duration::MAX);
    Bookmark::new(&path(), "profiles", fixture.shared()).unwrap().set(1000).unwrap();
    fixture.write(2);
    fixture.delete(0);
    let unread = fixture.unread();
    assert_eq!((unread.deleted_bytes, unread.deleted_ago, unread.alarms()), (0, None, vec![]));
    fixture.disk.clock().advance(MINUTE);
    fixture.delete(1000);
    fixture.disk.clock().advance(MINUTE);
    let unread = fixture.unread();
    assert_eq!((unread.deleted_bytes, unread.deleted_ago), (1000, Some(MINUTE)));
}
