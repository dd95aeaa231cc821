//! Claims about what the log says of unread lines, and how often.

use super::*;
use crate::tests::log::logged;

/// Has each line logged once, before somebody listens. Where another thread comes first to the code
/// that logs it, and nobody listens there, the line stays silent.
fn log_all_once() {
    let fixture = Fixture::new(Duration::MAX);
    let consumer = Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
    fixture.write(4);
    fixture.delete(0);
    consumer.commit(4000).unwrap();
    fixture.backlog.watch();
}

#[test]
fn the_log_says_once_that_an_alarm_begins_and_once_that_it_is_over() {
    log_all_once();
    let fixture = Fixture::new(Duration::MAX);
    let consumer = Consumer::register(&path(), "main", 0, fixture.shared()).unwrap();
    Bookmark::new(&path(), "far", fixture.shared()).unwrap().set(u64::MAX).unwrap();
    fixture.write(3);
    let say = |offset| {
        consumer.commit(offset).unwrap();
        logged(|| fixture.backlog.watch())
    };
    assert_eq!(say(0), [""; 0], "three quarters");
    fixture.counters.offset.store(4000, Ordering::Relaxed);
    let file = fixture.disk.create(&Segment::plain(3000).path(&path())).unwrap();
    file.append(&[b'x'; 1000]).unwrap();
    // Both bounds, each from both sides.
    let begins = |lines: &[String]| lines.len() == 1 && lines[0].contains("has not read");
    let ends = |lines: &[String]| lines.len() == 1 && lines[0].contains("over");
    assert_eq!(say(801), [""; 0]);
    assert!(begins(&say(800)));
    for offset in [800, 0, 801, 1200] {
        assert_eq!(say(offset), [""; 0], "it is said already: {offset}");
    }
    assert!(ends(&say(1201)));
    for offset in [1201, 4000, 801] {
        assert_eq!(say(offset), [""; 0], "it is over: {offset}");
    }
    assert!(begins(&say(0)));
}

#[test]
fn the_log_says_what_is_deleted_unread_once_in_ten_minutes() {
    log_all_once();
    let fixture = Fixture::new(Duration::MAX);
    Bookmark::new(&path(), "profiles", fixture.shared()).unwrap().set(400).unwrap();
    fixture.write(4);
    let delete = |start, after| {
        fixture.disk.clock().advance(after);
        logged(|| fixture.delete(start))
    };
    let first = delete(0, Duration::ZERO);
    assert!(first.len() == 1 && first[0].contains("bytes=600"), "{first:?}");
    assert_eq!(delete(1000, 10 * MINUTE - Duration::from_micros(1)), [""; 0]);
    let later = delete(2000, Duration::from_micros(1));
    assert!(later.len() == 1 && later[0].contains("bytes=2600"), "{later:?}");
    assert_eq!(delete(3000, MINUTE), [""; 0]);
}
