//! Claims about waiting changes, and about the queue at its bounds.

use std::sync::Arc;
use std::time::Instant;

use super::{BYTES_MAX, KEYS_MAX, PURGE_BYTES_MAX, WriteQueue};
use crate::area::Area;
use crate::disk::log::AreaPurge;
use crate::disk::record::DiskContent;

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
    for number in 0..=KEYS_MAX {
        queue.push(number.to_le_bytes()[..].into(), None);
    }
    assert!(queue.lost_count());
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
}
