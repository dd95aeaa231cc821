//! Claims about numbers as lines write them.

use super::*;

#[test]
fn whole_numbers_are_digits_that_a_sink_can_hold() {
    for (text, number) in [
        ("0", Some(0)),
        ("007", Some(7)),
        ("9223372036854775807", Some(i64::MAX.unsigned_abs())),
        ("09223372036854775807", Some(i64::MAX.unsigned_abs())),
        ("9223372036854775808", None),
        ("99999999999999999999", None),
        ("000000000000000000001", None),
        ("", None),
        ("+1", None),
        ("-1", None),
        ("1.0", None),
        (" 1", None),
        ("1:", None),
        ("/", None),
    ] {
        assert_eq!(whole(text.as_bytes()), number, "{text}");
    }
}

#[test]
fn seconds_have_a_fraction_of_which_six_digits_count() {
    for (text, us) in [
        ("1", Some(1_000_000)),
        ("1.", Some(1_000_000)),
        ("1.5", Some(1_500_000)),
        ("0.000001", Some(1)),
        ("12.0345678", Some(12_034_567)),
        ("1.12345678x", None),
        ("1.5.0", None),
        (".5", None),
        ("", None),
        ("9223372036854775807", None),
    ] {
        assert_eq!(seconds_us(text.as_bytes()), us, "{text}");
    }
}

#[test]
fn a_length_of_time_of_go_is_the_sum_of_its_units() {
    for (text, us) in [
        ("1m2.5s", Some(62_500_000)),
        ("1h0m0.25s", Some(3_600_250_000)),
        ("411.487µs", Some(411)),
        ("411.487\u{3bc}s", Some(411)),
        ("7us", Some(7)),
        ("3ms", Some(3_000)),
        ("1.9999ms", Some(1_999)),
        ("2500ns", Some(2)),
        ("999ns", Some(0)),
        ("5", None),
        ("5x", None),
        ("s", None),
        ("1.5", None),
        ("1s5", None),
    ] {
        assert_eq!(duration_us(text.as_bytes()), us, "{text}");
    }
}
