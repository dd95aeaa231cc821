//! Claims about `history`: one entry for each item, and a bound on all of them.

use super::*;

#[test]
fn an_item_counts_once_at_its_latest_read() {
    let mut history = History::default();
    for (unix_ms, item) in [(5, 1), (9, 1), (7, 2), (1, 1)] {
        history.push(ItemRead { unix_ms, item });
    }
    history.compact();
    let reads = [ItemRead { unix_ms: 9, item: 1 }, ItemRead { unix_ms: 7, item: 2 }];
    assert_eq!((history.distinct(), history.reads()), (2, &reads[..]));
}

#[test]
fn a_robot_is_bounded_to_the_latest_items() {
    let mut history = History::default();
    for number in 0..10 * USER_ITEMS_MAX {
        history.push(ItemRead { unix_ms: number as u64, item: number as u32 });
        assert!(history.reads().len() < 2 * USER_ITEMS_MAX);
    }
    history.compact();
    assert_eq!(history.distinct(), USER_ITEMS_MAX);
    assert_eq!(history.reads()[0].item as usize, 10 * USER_ITEMS_MAX - 1);
}
