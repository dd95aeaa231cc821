//! Which humps count, and that stragglers do not make one.

use super::{Smoothed, calibrated, tops};
use crate::quantiles::Sorted;
use crate::random::Draw;

fn normal(calls: usize, seed: u64) -> Vec<f64> {
    let mut draw = Draw::new(seed, 0);
    (0..calls).map(|_| draw.normal()).collect()
}

#[test]
fn only_humps_that_hold_calls_count() {
    let curve = [0.0, 2.0, 6.0, 1.0, 0.0, 0.0, 3.0, 0.5, 0.0];
    assert_eq!(tops(&curve, 0.0), [2, 6]);
    assert_eq!(tops(&curve, 4.0), [2]);
    assert!(tops(&curve, 10.0).is_empty());
}

#[test]
fn two_stragglers_do_not_widen_the_smoothing_and_eight_do() {
    let bandwidth = |stragglers: usize| {
        let mut values = normal(500, 3);
        values.extend((0..stragglers).map(|at| 12.0 + 0.01 * at as f64));
        Smoothed::of(&Sorted::new(&values), 1, 4.5).h
    };
    assert!(bandwidth(2) < 0.5 && bandwidth(8) > 1.0, "{} {}", bandwidth(2), bandwidth(8));
}

#[test]
fn draws_reach_beyond_the_sample() {
    let values = normal(200, 4);
    let smoothed = Smoothed::of(&Sorted::new(&values), 1, 4.0);
    let calls: f64 = smoothed.curve().iter().sum();
    assert!((calls - 200.0).abs() < 0.5, "{calls}");
}

#[test]
fn more_smoothing_is_needed_for_fewer_humps() {
    let mut values = normal(300, 5);
    values.extend(normal(100, 6).into_iter().map(|value| value + 6.0));
    let sorted = Sorted::new(&values);
    let [one, two] = [1, 2].map(|k| Smoothed::of(&sorted, k, 4.0));
    assert!(one.h > 2.0 * two.h);
    assert!(one.raw_p(&mut Draw::new(1, 0)) <= 0.002 && two.raw_p(&mut Draw::new(1, 0)) > 0.05);
}

#[test]
fn calibration_rises_from_zero_to_one() {
    let ps: Vec<f64> = (0..=100).map(|raw| calibrated(f64::from(raw) / 100.0)).collect();
    assert!(ps.windows(2).all(|pair| pair[0] < pair[1]), "{ps:?}");
    assert!(ps[0].abs() < 1e-12 && (ps[100] - 1.0).abs() < 1e-12);
}
