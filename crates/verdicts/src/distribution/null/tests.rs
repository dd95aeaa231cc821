//! What the smooth null is, and when its draws end.

use super::{FIRST, Smooth, p_value};
use crate::distribution::spectrum::{Frame, SearchRange};
use crate::random::Draw;
use crate::significance::COMB_DRAWS;

/// The p-value of 5 where every so many draws reach it, and how many were drawn.
fn reached_every(nth: u32) -> (f64, u32) {
    let mut drawn = 0;
    let p = p_value(5.0, || {
        drawn += 1;
        if drawn % nth == 0 { 5.0 } else { 0.0 }
    });
    (p, drawn)
}

#[test]
fn draws_end_once_the_score_was_reached_three_times_or_never() {
    assert_eq!(reached_every(1), (1.0, 3));
    assert_eq!(reached_every(10), (0.1, 30));
    assert_eq!(reached_every(u32::MAX), (0.001, FIRST));
    // Once in the first draws, and once more.
    assert_eq!(reached_every(900), (0.0015, COMB_DRAWS));
}

#[test]
fn the_p_value_of_a_score_like_the_others_is_spread_evenly() {
    let mut draw = Draw::new(6, 0);
    let low = (0..400).filter(|_| {
        let observed = draw.fraction();
        p_value(observed, || draw.fraction()) <= 0.1
    });
    // 40 expected; a deviation is 6.
    assert!((20..=60).contains(&low.count()));
}

#[test]
fn a_comb_is_smoothed_away_and_mean_and_spread_stay() {
    let mut draw = Draw::new(7, 0);
    let teeth: Vec<f64> =
        (0..2_000).map(|_| 500.0 * (1 + draw.below(4)) as f64 + draw.normal()).collect();
    let drawn = Smooth::of(&teeth, 0.0).sample(&mut draw);
    let beside = |values: &[f64]| {
        let off = |value: &f64| (value / 500.0 - (value / 500.0).round()).abs() > 0.1;
        values.iter().filter(|value| off(value)).count()
    };
    assert_eq!(beside(&teeth), 0);
    assert!(beside(&drawn) > 1_000, "{}", beside(&drawn));
    let mean =
        |values: &[f64]| values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
    assert!((mean(&teeth) - mean(&drawn)).abs() < 0.05);
}

#[test]
fn bins_expect_what_draws_bring() {
    let mut draw = Draw::new(8, 0);
    let values: Vec<f64> = (0..20_000).map(|_| 20.0 * (0.4 * draw.normal()).exp()).collect();
    let smooth = Smooth::of(&values, 0.0);
    let frame = Frame::new(&SearchRange { low: 5.0, width: 60.0, cycles: 12.0 });
    let (expected, drawn) = (smooth.expected(&frame), frame.histogram(&smooth.sample(&mut draw)));
    let sum = |bins: &[f64]| bins.chunks(64).map(|bins| bins.iter().sum()).collect::<Vec<f64>>();
    for (expected, drawn) in sum(&expected).into_iter().zip(sum(&drawn)) {
        assert!((expected - drawn).abs() < 5.0 * expected.sqrt() + 10.0, "{expected} {drawn}");
    }
}

#[test]
fn nothing_is_drawn_below_the_floor_of_a_tail() {
    let mut draw = Draw::new(9, 0);
    let tail: Vec<f64> = (0..500).map(|_| 100.0 + 50.0 * draw.exponential()).collect();
    let drawn = Smooth::of(&tail, 100.0).sample(&mut draw);
    assert!(drawn.iter().all(|value| *value >= 100.0 - 1e-9));
}
