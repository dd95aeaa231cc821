//! Claims about numbers with units.

use super::*;

#[test]
fn durations_have_the_columns_unit_or_their_own() {
    assert_eq!(duration_ms("12.5", Unit::MILLIS), Some(12.5));
    assert_eq!(duration_ms(" 0.25 ", Unit::SECONDS), Some(250.0));
    assert_eq!(duration_ms("1.5s", Unit::MILLIS), Some(1500.0));
    assert_eq!(duration_ms("250µs", Unit::SECONDS), Some(0.25));
    assert_eq!(duration_ms("1e3", Unit::MILLIS), Some(1000.0));
    assert_eq!(duration_ms("-4", Unit::MILLIS), Some(-4.0));
    assert!(duration_ms("NaN", Unit::MILLIS).unwrap().is_nan());
    for text in ["", "-", "fast", "12 parsecs", "1.2.3"] {
        assert_eq!(duration_ms(text, Unit::MILLIS), None, "{text}");
    }
}

#[test]
fn moments_are_told_by_their_size() {
    let at = Moment::Absolute(1_700_000_000_000.0);
    for text in [
        "1700000000",
        "1700000000000",
        "1700000000000000",
        "1700000000000000000",
        "2023-11-14T22:13:20Z",
        "2023-11-14 22:13:20",
        "[14/Nov/2023:22:13:20 +0000]",
    ] {
        assert_eq!(moment(text, None), Some(at), "{text}");
    }
    assert_eq!(moment("1.5", None), Some(Moment::Relative(1500.0)));
    assert_eq!(moment("1.5", Some(Unit::MILLIS)), Some(Moment::Relative(1.5)));
    assert_eq!(moment("yesterday", None), None);
}
