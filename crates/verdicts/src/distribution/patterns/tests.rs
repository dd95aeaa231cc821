//! Places have a pattern, or none, and one of several is chosen by what it leaves empty.

use super::{PlacePattern, Spacing, ToothWidth, believed, widths};
use crate::distribution::places::CallPlace;

fn places(at: &[f64], error: f64) -> Vec<CallPlace> {
    let place = |at: &f64| CallPlace {
        at: *at,
        error,
        deviation: 3.0 * error,
        calls: 20.0,
        ends: [at - 12.0 * error, at + 12.0 * error],
        ln_p: -20.0,
    };
    at.iter().map(place).collect()
}

fn quanta(at: &[f64]) -> Vec<(Spacing, f64)> {
    let found = believed(&places(at, 0.5), 2.0);
    let rounded = |pattern: PlacePattern| (pattern.spacing, pattern.quantum.round());
    found.into_iter().map(rounded).collect()
}

#[test]
fn every_multiple_occupied_is_linear_and_waits_that_double_are_not() {
    assert_eq!(quanta(&[20.0, 220.0, 420.0, 620.0]), [(Spacing::Linear, 200.0)]);
    assert_eq!(quanta(&[20.0, 220.0, 420.0, 820.0]), [(Spacing::Doubling, 200.0)]);
    assert_eq!(quanta(&[20.0, 220.0, 620.0, 1_420.0]), [(Spacing::Doubling, 200.0)]);
}

#[test]
fn places_anywhere_have_no_pattern() {
    assert_eq!(quanta(&[46.0, 66.0, 98.0, 161.0]), []);
    assert_eq!(quanta(&[46.0, 98.0]), []);
}

#[test]
fn two_timers_are_two_patterns() {
    let at = [5.0, 45.0, 85.0, 125.0, 165.0, 505.0, 1_005.0, 1_505.0];
    let mut found: Vec<f64> = quanta(&at).into_iter().map(|found| found.1).collect();
    found.sort_by(f64::total_cmp);
    assert_eq!(found, [40.0, 500.0]);
}

#[test]
fn equal_widths_speak_for_a_timer_and_widths_in_proportion_against_one() {
    let of = |deviations: [f64; 3]| {
        let at = [600.0, 1_200.0, 1_800.0];
        let tooth = |(at, deviation): (&f64, f64)| ToothWidth { at: *at, deviation, calls: 20.0 };
        widths(&at.iter().zip(deviations).map(tooth).collect::<Vec<_>>())
    };
    assert!(of([10.0, 10.0, 10.0]) > 1.0);
    assert!(of([10.0, 20.0, 30.0]) < -1.0);
    assert!(of([10.0, 2.0, 30.0]) < -1.0);
}
