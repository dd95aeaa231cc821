//! Claims about `seconds`.

use super::{micros, nanos, whole, words};

#[test]
fn seconds_keep_each_digit() {
    assert_eq!(nanos(b"1365603497.937000123"), Some(1_365_603_497_937_000_123));
    assert_eq!(micros(b"0.0000005"), Some(1));
    assert_eq!(micros(b"3"), Some(3_000_000));
    assert_eq!(micros(b"3."), Some(3_000_000));
}

#[test]
fn what_is_no_number_is_none() {
    for text in ["", ".", "-1", "1e3", "1.2.3", "99999999999999999999", "nan"] {
        assert_eq!(nanos(text.as_bytes()), None, "{text}");
    }
    assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
    assert_eq!(whole(b"18446744073709551616"), None);
}

#[test]
fn words_stand_between_any_spaces() {
    assert_eq!(words(b" a  bc ").collect::<Vec<_>>(), [&b"a"[..], b"bc"]);
}
