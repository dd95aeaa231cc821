//! Claims about feedback that waits for its impression.

use super::{ItemFeedback, PendingFeedback};

#[test]
fn an_impression_takes_what_came_within_its_span() {
    let mut pending = PendingFeedback::default();
    for time in [100, 60, 55] {
        assert_eq!(pending.add("a", time, 50), 0);
    }
    let taken = pending.take("a", 50, 50);
    assert_eq!(taken, ItemFeedback { count: 3, first_us: Some(55), late: 0 });
    assert_eq!(pending.take("a", 50, 50), ItemFeedback::default(), "it is taken once");
}

#[test]
fn what_is_a_span_later_belongs_to_no_earlier_impression() {
    let mut pending = PendingFeedback::default();
    pending.add("a", 200, 50);
    assert_eq!(pending.add("a", 100, 50), 1, "200 is more than 50 after 100");
    let taken = pending.take("a", 40, 50);
    assert_eq!(taken, ItemFeedback { count: 0, first_us: None, late: 1 });
    assert_eq!(pending.clear(), 0);
}

#[test]
fn what_is_left_is_counted() {
    let mut pending = PendingFeedback::default();
    pending.add("a", 3, 50);
    pending.add("b", 2, 50);
    pending.add("b", 1, 50);
    assert_eq!(pending.clear(), 3);
    assert_eq!(pending.clear(), 0);
}
