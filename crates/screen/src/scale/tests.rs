//! Claims about axes.

use super::*;

#[test]
fn ticks_are_round_and_no_more_than_asked() {
    assert_eq!(ticks(0.0, 1000.0, 5), [0.0, 500.0, 1000.0]);
    assert_eq!(ticks(3.0, 97.0, 5), [20.0, 40.0, 60.0, 80.0]);
    assert_eq!(ticks(5.0, 5.0, 5), [5.0]);
    assert!(ticks(f64::NAN, 1.0, 5).is_empty());
    for most in 1..12 {
        assert!((1..=most).contains(&ticks(0.37, 12.9, most).len()));
    }
}

#[test]
fn a_logarithmic_axis_has_powers_of_ten() {
    let scale = Scale::new(0.5, 2000.0, true);
    assert_eq!(scale.ticks(5), [1.0, 10.0, 100.0, 1000.0]);
    assert!((scale.value(scale.position(37.0)) - 37.0).abs() < 1e-9);
}

#[test]
fn equal_ends_lie_in_the_middle() {
    for value in [0.0, 5.0, -3.0] {
        assert_eq!(Scale::new(value, value, false).position(value), 0.5);
    }
    assert_eq!(Scale::new(1.0, 1.0, true).position(1.0), 0.5);
}

#[test]
fn a_range_is_wide_when_two_decades_lie_within() {
    assert!(is_wide(1.0, 101.0) && !is_wide(1.0, 99.0) && !is_wide(0.0, 1e9));
}
