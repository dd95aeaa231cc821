//! Claims about the queue of one viewer.

use super::*;

#[test]
fn what_does_not_fit_the_queue_of_a_viewer_is_dropped_and_counted() {
    let (lines, mut receiver) = unbounded_channel();
    let zero = || AtomicU64::new(0);
    let viewer = Viewer {
        filter: None,
        with_headers: false,
        lines,
        queued_bytes: AtomicUsize::new(0),
        ended_before: 3,
        matched: zero(),
        dropped: zero(),
    };
    let line = Bytes::from(vec![b'x'; QUEUE_BYTES_MAX / 4]);
    (0..6).for_each(|_| viewer.offer(&line));
    let counts = serde_json::from_slice::<serde_json::Value>(&viewer.counted(9)).unwrap();
    assert_eq!((&counts["tap"]["ended"], &counts["tap"]["dropped"]), (&6.into(), &2.into()));
    assert_eq!(std::iter::from_fn(|| receiver.try_recv().ok()).count(), 4);
    drop(receiver);
    viewer.offer(&Bytes::from_static(b"x"));
    assert_eq!(viewer.dropped.load(Ordering::Relaxed), 3, "nobody is there");
}

#[test]
fn a_query_is_read_and_a_wrong_one_refused_by_name() {
    let (filter, with_headers) = asked("where=status%20%3E%3D%20500&headers=1").unwrap();
    assert_eq!((filter.unwrap().as_str(), with_headers), ("status >= 500", true));
    assert!(asked("").unwrap().0.is_none());
    for (query, expected) in [
        ("headers=maybe", "`headers` is 1 or 0"),
        ("filter=x", "`filter` is none of where, headers"),
        ("where=%ff", "`where` is not UTF-8"),
    ] {
        assert_eq!(asked(query).err().as_deref(), Some(expected));
    }
    assert!(asked("where=status+%3E").unwrap_err().starts_with("where: "));
}
