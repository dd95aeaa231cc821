//! Medians, spreads and targets.

use super::Measurement;

#[test]
fn takes_the_median_and_keeps_the_spread() {
    let odd = Measurement::new("a", "µs", [3.0, 1.0, 2.0]);
    assert_eq!((odd.value, odd.min, odd.max), (2.0, 1.0, 3.0));
    assert_eq!(Measurement::new("a", "µs", [4.0, 1.0]).value, 2.5);
    assert!(Measurement::new("a", "µs", []).value.is_nan());
}

#[test]
fn judges_the_median_not_the_best_round() {
    let figure = || Measurement::new("a", "µs", [0.5, 1.5, 2.0]);
    assert!(!figure().at_most(1.0, "").target.unwrap().met);
    assert!(figure().at_least(1.5, "").target.unwrap().met);
}
