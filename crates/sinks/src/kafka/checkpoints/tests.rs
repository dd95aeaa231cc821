//! Claims about waiting for transactions that others have open.

use super::*;

#[test]
fn reading_begins_once_committed_messages_reach_the_end_or_never() {
    let (long, none) = (Duration::from_secs(60), Duration::ZERO);
    for (ends, timeout, expected) in [
        (&[5][..], none, Ok(true)),
        (&[6], none, Ok(true)),
        (&[4], none, Ok(false)),
        (&[3, 5], long, Ok(true)),
        (&[], long, Err("the broker is gone")),
    ] {
        let mut left = ends.iter();
        let committed = || left.next().copied().ok_or("the broker is gone");
        assert_eq!(reaches(5, committed, timeout), expected, "{ends:?}");
        assert_eq!(left.len(), 0, "{ends:?}");
    }
}
