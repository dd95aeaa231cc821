//! Claims about slow and typical calls.

use super::*;

#[test]
fn a_twentieth_is_slow_and_a_fifth_around_the_median_is_typical() {
    let total_ms: Vec<f64> = (0..1000).map(f64::from).collect();
    let split = Split::new(&total_ms, None);
    assert_eq!((split.slow.len(), split.slow[0]), (50, 950));
    assert_eq!((split.typical.len(), split.typical[0]), (200, 400));
}

#[test]
fn a_short_series_has_ten_slow_calls_or_a_quarter() {
    let total_ms: Vec<f64> = (0..50).map(f64::from).collect();
    let split = Split::new(&total_ms, None);
    assert_eq!((split.slow.len(), split.typical.len()), (10, 24));
    assert_eq!(Split::new(&total_ms[..12], None).slow.len(), 3);
}

#[test]
fn equal_calls_are_never_slow_and_the_user_decides_what_is() {
    assert!(Split::new(&[5.0; 100], None).slow.is_empty());
    assert_eq!(Split::new(&[], None), Split::default());
    let total_ms: Vec<f64> = (0..100).map(f64::from).collect();
    let split = Split::new(&total_ms, Some(49.5));
    assert_eq!(split.slow.len(), 50);
    assert!(split.typical.iter().all(|row| *row < 50), "no call is both");
}
