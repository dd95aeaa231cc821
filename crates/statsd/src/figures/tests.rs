//! Numbers as the references write them.

use serde_json::json;

use super::{finite, json, six_places, whole};

fn written(write: fn(f64, &mut Vec<u8>), number: f64) -> String {
    let mut text = Vec::new();
    write(number, &mut text);
    String::from_utf8(text).expect("figures are text")
}

#[test]
fn numbers_are_written_as_each_language_writes_them() {
    for (number, javascript, places, digits) in [
        (0.0, "0", "0.000000", "0"),
        (100.0, "100", "100.000000", "100"),
        (-2.75, "-2.75", "-2.750000", "-2"),
        (0.000_000_4, "4e-7", "0.000000", "0"),
        (1e21, "1e+21", "1000000000000000000000.000000", "9223372036854775807"),
    ] {
        assert_eq!(written(super::javascript, number), javascript);
        assert_eq!(written(six_places, number), places);
        assert_eq!(written(whole, number), digits);
    }
}

#[test]
fn json_has_whole_numbers_without_a_point_up_to_what_it_can_tell_apart() {
    assert_eq!(json(3.0).to_string(), "3");
    assert_eq!(json(-3.0).to_string(), "-3");
    assert_eq!(json(2.5).to_string(), "2.5");
    assert_eq!(json(8_999_999_999_999_999.0).to_string(), "8999999999999999");
    assert_eq!(json(9e15).to_string(), "9000000000000000.0");
    assert_eq!(json(-9e15).to_string(), "-9000000000000000.0");
    assert_eq!(json(f64::INFINITY), json!(null));
}

#[test]
fn a_sum_without_bounds_is_the_largest_number_and_one_without_meaning_is_none() {
    let sums = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -2.5, f64::MAX].map(finite);
    assert_eq!(sums, [f64::MAX, f64::MIN, 0.0, -2.5, f64::MAX]);
}
