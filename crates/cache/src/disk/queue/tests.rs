//! Claims about waiting changes, and about the queue at its bounds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::FIXTURE_TIMEOUT;

use super::{
    BATCH_BYTES, BYTES_MAX, KEYS_MAX, PURGE_BATCH_BYTES, PURGE_BYTES, PURGE_BYTES_MAX, WriteQueue,
};
use crate::area::Area;
use crate::disk::log::AreaPurge;
use crate::disk::record::{DiskContent, DiskEntry};
use crate::entry::Entry;
use crate::tests::{MINUTE, response};

fn names(length: usize) -> Option<DiskContent> {
    Some(DiskContent::Varies(Arc::from([Box::from("x".repeat(length))])))
}

fn length(wanted: Option<Option<DiskContent>>) -> Option<Option<usize>> {
    wanted.map(|wanted| {
        wanted.map(|stored| match stored {
            DiskContent::Varies(names) => names[0].len(),
            DiskContent::Entry(_) => panic!("no answer was pushed"),
        })
    })
}

#[test]
fn the_last_change_of_a_key_counts_until_it_is_written() {
    let queue = WriteQueue::default();
    assert!(queue.push(b"a"[..].into(), names(1)));
    assert!(queue.push(b"a"[..].into(), names(2)));
    assert_eq!(length(queue.get(b"a")), Some(Some(2)));
    let work = queue.take(Instant::now(), 0);
    assert_eq!((work.changes.len(), queue.count()), (1, 1));
    assert_eq!(length(queue.get(b"a")), Some(Some(2)));
    queue.push(b"a"[..].into(), None);
    assert_eq!(length(queue.get(b"a")), Some(None));
    queue.written();
    assert_eq!(length(queue.get(b"a")), Some(None));
    queue.take(Instant::now(), 0);
    queue.written();
    assert_eq!((length(queue.get(b"a")), queue.count()), (None, 0));
}

#[test]
fn at_its_bytes_an_answer_is_dropped_and_its_key_forgotten() {
    let queue = WriteQueue::default();
    assert!(queue.push(b"old"[..].into(), names(10)));
    assert!(queue.push(b"large"[..].into(), names(BYTES_MAX - 100)));
    assert!(!queue.push(b"old"[..].into(), names(100)));
    assert_eq!(length(queue.get(b"old")), Some(None));
    // Changes that are being written still count.
    queue.take(Instant::now(), 0);
    assert!(!queue.push(b"b"[..].into(), names(100)));
    queue.written();
    assert!(queue.push(b"b"[..].into(), names(100)));
}

#[test]
fn beyond_its_keys_nothing_on_disk_is_trusted() {
    let queue = WriteQueue::default();
    assert!(queue.push(b"large"[..].into(), names(BYTES_MAX - 100)));
    for number in 1..KEYS_MAX {
        queue.push(number.to_le_bytes()[..].into(), None);
    }
    assert!(!queue.lost_count() && queue.count() == KEYS_MAX);
    queue.push(b"one more"[..].into(), None);
    assert!(queue.lost_count() && queue.count() == 1);
    // What was dropped takes no room.
    assert!(queue.push(b"large"[..].into(), names(BYTES_MAX - 100)));
    assert_eq!(length(queue.get(b"never seen")), Some(None));
    queue.clear();
    assert!(!queue.lost_count());
    assert_eq!(length(queue.get(b"never seen")), None);
}

fn purge(target: &str) -> AreaPurge {
    AreaPurge { area: Area::resource(None, target), stale_us: None }
}

#[test]
fn purges_are_taken_with_the_changes_that_waited_beside_them() {
    let queue = WriteQueue::default();
    queue.push_purges([purge("/a"), purge("/b")].into_iter(), 2);
    queue.push(b"a"[..].into(), names(1));
    let work = queue.take(Instant::now(), 0);
    assert_eq!((work.purges, work.last_purge), (vec![purge("/a"), purge("/b")], 2));
    assert_eq!((work.changes.len(), work.is_awaited), (1, false));
    assert_eq!(queue.take(Instant::now(), 0).purges, []);
}

#[test]
fn a_purge_that_is_awaited_is_taken_at_once_until_it_is_durable() {
    let queue = WriteQueue::default();
    queue.push_purges([purge("/a")].into_iter(), 1);
    assert_eq!(queue.hurry_purges(), 1);
    let never = Instant::now() + testkit::FIXTURE_TIMEOUT;
    for _ in 0..2 {
        assert!(queue.take(never, 0).is_awaited);
    }
    assert!(!queue.take(Instant::now(), 1).is_awaited);
}

#[test]
fn beyond_its_bytes_of_purges_nothing_on_disk_is_trusted() {
    let queue = WriteQueue::default();
    let long = "x".repeat(1 << 20);
    let many = (PURGE_BYTES_MAX >> 20) as u64;
    for number in 1..=many {
        assert!(!queue.lost_count());
        queue.push_purges([purge(&long)].into_iter(), number);
    }
    assert!(queue.lost_count());
    assert_eq!((queue.clear(), queue.lost_count()), (many, false));
    for (bytes, is_lost) in [(PURGE_BYTES_MAX, false), (PURGE_BYTES_MAX + 1, true)] {
        let queue = WriteQueue::default();
        queue.push_purges([purge(&"x".repeat(bytes - PURGE_BYTES))].into_iter(), 1);
        assert_eq!(queue.lost_count(), is_lost);
    }
}

#[test]
fn it_takes_as_many_bytes_as_it_may_and_not_one_more() {
    let entry = |body: usize| {
        // The field renders as `x: 12345` with the end of the line.
        let new = response(&[("x", "12345")], vec![0; body]);
        let entry = Entry::new(new, MINUTE, Instant::now());
        Some(DiskContent::Entry(DiskEntry { entry, born_us: 0, has_encodings: false }))
    };
    let two = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|length| Box::from("x".repeat(length)));
        Some(DiskContent::Varies(Arc::from([one, other])))
    };
    let fits = |content| WriteQueue::default().push(b"k"[..].into(), content);
    assert_eq!([BYTES_MAX - 266, BYTES_MAX - 265].map(|n| fits(entry(n))), [true, false]);
    assert_eq!([BYTES_MAX - 16, BYTES_MAX - 15].map(|n| fits(names(n))), [true, false]);
    assert_eq!([10, 11].map(|n| fits(two(BYTES_MAX - 42, n))), [true, false]);
    // What waits and what is being written count together, and what was replaced no more.
    let queue = WriteQueue::default();
    let push = |key: &str, length: usize| queue.push(key.as_bytes().into(), names(length - 16));
    assert!(push("a", BYTES_MAX / 2));
    queue.take(Instant::now(), 0);
    for _ in 0..5 {
        assert!(push("b", BYTES_MAX / 4));
    }
    assert!(!push("c", BYTES_MAX / 4 + 1) && push("c", BYTES_MAX / 4));
    queue.written();
    assert!(push("d", BYTES_MAX / 2) && !push("e", 17));
}

/// Returns whether the writer would begin before its time.
fn begins(queue: &WriteQueue) -> bool {
    queue.state.lock().has_enough(0)
}

#[test]
fn a_transaction_begins_before_its_time_once_enough_waits_for_it() {
    let queue = WriteQueue::default();
    assert!(!begins(&queue));
    queue.push(b"a"[..].into(), names(BATCH_BYTES - 17));
    assert!(!begins(&queue));
    queue.push(b"a"[..].into(), names(BATCH_BYTES - 16));
    assert!(begins(&queue));
    let never = Instant::now() + FIXTURE_TIMEOUT;
    assert_eq!(queue.take(never, 0).changes.len(), 1);
    assert!(!begins(&queue));
    let purged = |bytes: usize| [purge(&"x".repeat(bytes - PURGE_BYTES))].into_iter();
    queue.push_purges(purged(PURGE_BATCH_BYTES - PURGE_BYTES - 3), 1);
    assert!(!begins(&queue));
    queue.push_purges(purged(PURGE_BYTES + 3), 2);
    assert!(begins(&queue));
    assert_eq!(queue.take(never, 0).purges.len(), 2);
    assert!(!begins(&queue));
    // Otherwise it waits to its deadline.
    let deadline = Instant::now() + Duration::from_millis(5);
    queue.push(b"a"[..].into(), names(1));
    assert_eq!(queue.take(deadline, 0).changes.len(), 1);
    assert!(Instant::now() >= deadline);
}

#[test]
fn who_waits_for_work_is_woken_by_enough_of_it_and_by_the_end() {
    let wakes: [fn(&WriteQueue); 4] = [
        |queue| assert!(queue.push(b"a"[..].into(), names(BATCH_BYTES))),
        |queue| queue.push_purges([purge(&"x".repeat(PURGE_BATCH_BYTES))].into_iter(), 1),
        |queue| {
            queue.push_purges([purge("/a")].into_iter(), 1);
            assert_eq!(queue.hurry_purges(), 1);
        },
        WriteQueue::stop,
    ];
    for wake in wakes {
        // More than once, because the thread may not have begun to wait.
        for turn in 0..3 {
            let queue = Arc::new(WriteQueue::default());
            let taking = std::thread::spawn({
                let queue = Arc::clone(&queue);
                move || queue.take(Instant::now() + FIXTURE_TIMEOUT, 0)
            });
            (0..turn * 3).for_each(|_| std::thread::yield_now());
            wake(&queue);
            let work = taking.join().unwrap();
            assert!(work.stopping || work.changes.len() + work.purges.len() == 1);
        }
    }
}

#[test]
fn a_pause_lasts_its_time_unless_the_queue_stops() {
    let queue = Arc::new(WriteQueue::default());
    let (begun, span) = (Instant::now(), Duration::from_millis(5));
    assert!(!queue.pause(span) && begun.elapsed() >= span);
    let pausing = std::thread::spawn({
        let queue = Arc::clone(&queue);
        move || queue.pause(FIXTURE_TIMEOUT)
    });
    queue.stop();
    assert!(pausing.join().unwrap() && queue.pause(FIXTURE_TIMEOUT));
}

#[test]
fn the_log_that_was_removed_takes_its_changes_along_but_not_the_end_or_the_numbers_of_purges() {
    let queue = WriteQueue::default();
    queue.push_purges([purge("/a")].into_iter(), 7);
    queue.hurry_purges();
    queue.push(b"a"[..].into(), names(1));
    queue.take(Instant::now(), 0);
    queue.push(b"b"[..].into(), names(1));
    queue.push_purges([purge("/b")].into_iter(), 8);
    assert!(queue.count() == 2 && !queue.writing_for().is_zero());
    queue.stop();
    assert_eq!((queue.clear(), queue.count()), (8, 0));
    assert!(queue.writing_for().is_zero());
    let work = queue.take(Instant::now() + FIXTURE_TIMEOUT, 6);
    assert_eq!((work.changes.len(), work.purges.len()), (0, 0));
    assert_eq!((work.last_purge, work.is_awaited, work.stopping), (8, true, true));
    assert!(!queue.take(Instant::now(), 7).is_awaited);
    queue.written();
    assert!(queue.writing_for().is_zero());
}
