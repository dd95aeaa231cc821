//! Claims about a user's reads: one for each item, a bound on all, and no matter how they came.

use super::*;

fn settled<'i>(reads: &[(u64, &'i str)], begin_unix_ms: u64) -> Vec<(u64, &'i str)> {
    let mut reads: Vec<_> =
        reads.iter().map(|(unix_ms, item)| ItemRead { unix_ms: *unix_ms, item }).collect();
    settle(&mut reads, begin_unix_ms);
    reads.iter().map(|read| (read.unix_ms, read.item)).collect()
}

#[test]
fn an_item_counts_once_at_its_latest_read() {
    let reads = [(5, "a"), (9, "a"), (7, "b"), (1, "a"), (7, "B")];
    assert_eq!(settled(&reads, 0), [(9, "a"), (7, "B"), (7, "b")]);
    assert_eq!(settled(&reads, 8), [(9, "a")]);
}

#[test]
fn reads_that_were_settled_in_parts_settle_as_all_at_once() {
    let names: Vec<String> =
        (0..1_700).map(|number| format!("{:04}", number * 7 % 1_500)).collect();
    let all: Vec<(u64, &str)> =
        names.iter().enumerate().map(|(at, item)| (at as u64 * 31 % 2_000, &**item)).collect();
    let whole = settled(&all, 300);
    assert_eq!(whole.len(), USER_ITEMS_MAX);
    for cut in [1, 400, 1_200, 1_699] {
        let (old, new) = all.split_at(cut);
        let parts = [settled(new, 200), settled(old, 100)].concat();
        assert_eq!(settled(&parts, 300), whole, "cut at {cut}");
    }
}

#[test]
fn a_value_that_was_cut_is_an_error() {
    let mut value = Vec::new();
    encode(ItemRead { unix_ms: 7, item: "item" }, &mut value);
    encode(ItemRead { unix_ms: 8, item: "" }, &mut value);
    let decoded = |value: &[u8]| decode(value, &mut Vec::new()).is_ok();
    assert!(decoded(&value) && decoded(&[]) && decoded(&value[..13]));
    assert!(!decoded(&value[..12]) && !decoded(&value[..value.len() - 1]));
}
