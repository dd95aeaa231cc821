//! Claims about values as MySQL takes them.

use super::*;

#[test]
fn knows_the_calendar() {
    for (us, expected) in [
        (0, (1970, 1, 1, 0, 0, 0, 0)),
        (1_795_254_480_000_001, (2026, 11, 21, 9, 48, 0, 1)),
        (951_782_400_000_000, (2000, 2, 29, 0, 0, 0, 0)),
        (-1, (1969, 12, 31, 23, 59, 59, 999_999)),
        (-30_610_224_000_000_000, (1000, 1, 1, 0, 0, 0, 0)),
        (253_402_300_799_999_999, (9999, 12, 31, 23, 59, 59, 999_999)),
    ] {
        let (year, month, day, hour, minute, second, us_left) = expected;
        assert_eq!(date(us), Bound::Date(year, month, day, hour, minute, second, us_left));
    }
}

#[test]
fn a_value_weighs_its_bytes_and_a_little_more() {
    let (text, blob) = ("ä".repeat(5).into(), vec![0; 3].into());
    let mut bytes = 100;
    for (value, expected) in [
        (SqlValue::Absent, 108),
        (SqlValue::Integer(7), 116),
        (SqlValue::Text(text), 134),
        (SqlValue::Blob(blob), 145),
    ] {
        bound(&value, &mut bytes);
        assert_eq!(bytes, expected, "{value:?}");
    }
}
