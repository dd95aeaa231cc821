//! One hump, two humps, and degenerate samples.

use super::find;
use crate::random::Draw;

fn lognormal(draw: &mut Draw) -> f64 {
    20.0 * (0.5 * draw.normal()).exp()
}

#[test]
fn one_hump_is_rarely_called_several() {
    let mut draw = Draw::new(6, 0);
    let alarms = (0..60).filter(|set| {
        let values: Vec<f64> = (0..200).map(|_| lognormal(&mut draw)).collect();
        find(&values, *set).1
    });
    assert!(alarms.count() <= 2);
}

#[test]
fn two_humps_are_placed_with_their_shares() {
    let mut draw = Draw::new(7, 0);
    let mut values: Vec<f64> = (0..700).map(|_| 10.0 + draw.normal()).collect();
    values.extend((0..300).map(|_| 50.0 + 3.0 * draw.normal()));
    let (found, several) = find(&values, 1);
    assert!(several && found.p <= 0.005 && found.p_dip <= 0.005, "{found:?}");
    let [fast, slow] = &found.modes[..] else { panic!("{found:?}") };
    assert!((fast.at_ms - 10.0).abs() < 0.6 && (slow.at_ms - 50.0).abs() < 2.0, "{found:?}");
    assert!((fast.share - 0.7).abs() < 0.01 && fast.ci_ms[0] <= 10.2 && fast.ci_ms[1] >= 9.8);
}

#[test]
fn a_hump_of_one_percent_is_seen() {
    let mut draw = Draw::new(8, 0);
    let mut values: Vec<f64> = (0..2_000).map(|_| lognormal(&mut draw)).collect();
    values.extend((0..20).map(|_| 2_000.0 + 30.0 * draw.normal()));
    let (found, several) = find(&values, 1);
    assert!(several, "{found:?}");
    assert!((found.modes.last().unwrap().at_ms - 2_000.0).abs() < 60.0, "{found:?}");
}

#[test]
fn equal_values_are_one_hump() {
    let (found, several) = find(&[5.0; 30], 1);
    assert!(!several);
    assert_eq!(found.modes.len(), 1);
    assert!((found.modes[0].at_ms - 5.0).abs() < 1e-9);
}
