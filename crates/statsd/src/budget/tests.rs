//! Charging, refunding and overflowing.

use super::{Budget, NameCosts};
use crate::names::NAME_BYTES;

#[test]
fn a_prefix_that_is_full_overflows_into_its_own_key_and_no_other_suffers() {
    let budget = Budget::new("statsd", 10_000, &[("app.".to_owned(), 2 * (NAME_BYTES + 13))]);
    assert_eq!(budget.charge(b"app.a", 8), Ok(()));
    assert_eq!(budget.charge(b"app.b", 8), Ok(()));
    assert_eq!(budget.charge(b"app.c", 8).map_err(|key| &**key), Err("app.overflow"));
    assert_eq!(budget.charge(b"app.overflow", 8), Ok(()));
    assert_eq!(budget.charge(b"web.a", 8), Ok(()));
    assert_eq!(budget.overflowed(), 1);
}

#[test]
fn what_is_removed_makes_room() {
    let budget = Budget::new("statsd", NAME_BYTES + 9, &[]);
    assert_eq!(budget.charge(b"a", 8), Ok(()));
    assert_eq!(budget.charge(b"b", 8).map_err(|key| &**key), Err("statsd.overflow"));
    budget.refund(b"a", 8);
    assert_eq!(budget.charge(b"b", 8), Ok(()));
    assert_eq!(budget.usage()[0].used, NAME_BYTES + 9);
}

#[test]
fn contents_are_charged_to_the_last_byte_and_no_further() {
    let budget = Budget::new("statsd", 100, &[("app.".to_owned(), 10)]);
    let used = || budget.usage().iter().map(|usage| usage.used).collect::<Vec<_>>();
    assert!(budget.charge_contents(b"app.a", 6) && budget.charge_contents(b"app.b", 4));
    assert!(!budget.charge_contents(b"app.a", 1));
    assert!(budget.charge_contents(b"web", 100) && !budget.charge_contents(b"web", 1));
    assert_eq!(used(), [10, 100]);
    budget.adjust(b"app.a", 7);
    budget.adjust(b"web", -30);
    assert_eq!(used(), [17, 70]);
    assert_eq!(budget.overflowed(), 0, "contents are no samples");
}

#[test]
fn a_name_is_charged_for_each_copy_of_its_text() {
    let costs = NameCosts { copies: 2, plain: 5, ..NameCosts::default() };
    let budget = Budget::new("statsd", 1000, &[]).costing(costs);
    assert_eq!(budget.name_bytes(b"12345"), 15 + NAME_BYTES);
    assert_eq!(budget.costs(), &costs);
    assert_eq!(budget.charge(b"12345", 9), Ok(()));
    assert_eq!(budget.usage()[0].used, 24 + NAME_BYTES);
    budget.refund(b"12345", 9);
    assert_eq!(budget.usage()[0].used, 0);
}

#[test]
fn what_overflows_is_counted_once_and_counted_on_by_the_budget_that_follows() {
    let budget = Budget::new("statsd", 0, &[("app".to_owned(), 0), ("app.web.".to_owned(), 0)]);
    let overflow = |name: &[u8]| budget.overflow(name).map(|key| key.to_string());
    assert_eq!(overflow(b"app.web.a").as_deref(), Some("app.web.overflow"), "the longest counts");
    assert_eq!(overflow(b"app.a").as_deref(), Some("app.overflow"));
    assert_eq!(overflow(b"b").as_deref(), Some("statsd.overflow"));
    assert_eq!(overflow(b"statsd.overflow"), None);
    assert_eq!(budget.overflowed(), 3);
    let next = Budget::new("statsd", 0, &[]).counting_on(&budget);
    assert_eq!(next.charge(b"b", 1).map_err(|key| &**key), Err("statsd.overflow"));
    assert_eq!((next.overflowed(), next.usage()[0].used), (4, 0));
}
