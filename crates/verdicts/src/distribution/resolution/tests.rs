//! Steps that are found, and those that are none.

use super::{Resolution, last_digit};
use crate::random::Draw;

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn spread(count: usize) -> Vec<f64> {
    let mut draw = Draw::new(1, 0);
    (0..count).map(|_| 20.0 * (0.8 * draw.normal()).exp()).collect()
}

#[test]
fn whole_milliseconds_are_a_step() {
    let values = ascending(spread(50).into_iter().map(f64::round).collect());
    assert_eq!(Resolution::of(&values), Resolution::Step(1.0));
    let tenths =
        ascending(spread(50).into_iter().map(|value| (value * 10.0).round() / 10.0).collect());
    let Resolution::Step(step) = Resolution::of(&tenths) else { panic!("no step") };
    assert!((step - 0.1).abs() < 1e-9);
}

#[test]
fn a_clock_that_is_fine_enough_has_none() {
    assert_eq!(Resolution::of(&ascending(spread(500))), Resolution::Fine);
    let micros = spread(500).into_iter().map(|value| 50.0 + (value * 1e3).round() / 1e3);
    assert_eq!(Resolution::of(&ascending(micros.collect())), Resolution::Fine);
}

#[test]
fn exact_multiples_of_half_a_second_are_a_finding_and_not_a_step() {
    let values = [500.0, 500.0, 1000.0, 1500.0, 2500.0];
    assert_eq!(Resolution::of(&values), Resolution::Fine);
    let seconds = [0.0, 1000.0, 1000.0, 2000.0, 3000.0];
    assert_eq!(Resolution::of(&seconds), Resolution::Step(1000.0));
}

#[test]
fn buckets_of_an_hdr_histogram_widen_with_each_octave() {
    let bucket = |value: f64| {
        let micros = value * 1e3;
        let width = 2_f64.powi((micros.log2().floor() as i32 - 10).max(0));
        ((micros / width).floor() * width + width - 1.0) / 1e3
    };
    let values = ascending(spread(2_000).into_iter().map(bucket).collect());
    let resolution = Resolution::of(&values);
    for value in [12.0, 30.0, 100.0] {
        let width = 2_f64.powi(((value * 1e3_f64).log2().floor() as i32 - 10).max(0)) / 1e3;
        assert!(resolution.at(value) >= width * 0.49, "{resolution:?} at {value}");
        assert!(resolution.at(value) <= width * 2.01, "{resolution:?} at {value}");
    }
}

#[test]
fn logarithmic_buckets_are_a_ratio() {
    let bucket = |value: f64| 1.02_f64.powf((value.ln() / 1.02_f64.ln()).round());
    let values = ascending(spread(500).into_iter().map(bucket).collect());
    let Resolution::Ratio(ratio) = Resolution::of(&values) else { panic!("no ratio") };
    assert!((ratio - 1.02_f64.ln()).abs() < 1e-6);
}

#[test]
fn few_or_equal_values_have_none() {
    assert_eq!(Resolution::of(&[]), Resolution::Fine);
    assert_eq!(Resolution::of(&[5.0; 40]), Resolution::Fine);
    assert_eq!(Resolution::of(&[5.0, 7.0]), Resolution::Fine);
}

#[test]
fn exact_values_at_places_of_their_own_are_not_rounded_to_their_distance() {
    let calls = [10.0, 10.0, 110.0, 210.0];
    assert_eq!(Resolution::of(&calls), Resolution::Step(10.0));
    let base_and_teeth: Vec<f64> = (0..9).map(|k| 5.0 + 20.0 * f64::from(k)).collect();
    assert_eq!(Resolution::of(&base_and_teeth), Resolution::Step(5.0));
    let middles: Vec<f64> = (0..9).map(|k| 10.0 + 20.0 * f64::from(k)).collect();
    assert_eq!(Resolution::of(&middles), Resolution::Step(20.0));
}

#[test]
fn powers_of_two_that_are_all_there_are_buckets() {
    let buckets: Vec<f64> = (1..8).map(|power| 2_f64.powi(power)).collect();
    let Resolution::Ratio(ratio) = Resolution::of(&buckets) else { panic!("no ratio") };
    assert!((ratio - 2_f64.ln()).abs() < 1e-9);
    // A ladder of retries has fewer steps, and its base beside it.
    let ladder = [5.0, 200.0, 400.0, 800.0, 1600.0];
    assert_eq!(Resolution::of(&ladder), Resolution::Step(5.0));
}

#[test]
fn what_was_rounded_to_nothing_is_spread_above_it() {
    let mut values = vec![0.0; 1000];
    Resolution::Step(1.0).dither(&mut values, &mut Draw::new(1, 0));
    let low = values.iter().filter(|value| **value < 0.1).count();
    assert!(values.iter().all(|value| (0.0..=0.5).contains(value)));
    assert!((100..300).contains(&low), "{low}");
}

#[test]
fn the_last_digit_is_that_of_the_finest_time() {
    assert_eq!(last_digit(&[10.0, 12.5, 30.0]), 0.1);
    assert_eq!(last_digit(&[1000.0, 3000.0]), 1000.0);
    assert!((last_digit(&[10.000_1, 30.0]) - 1e-4).abs() < 1e-12);
    assert_eq!(last_digit(&[std::f64::consts::PI]), 0.0);
}
