//! Charging, refunding and overflowing.

use super::Budget;
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
