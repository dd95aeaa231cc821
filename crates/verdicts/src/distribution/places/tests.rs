//! Places are where calls stand, whatever their width, and smooth calls have none but their mode.

use super::find;
use crate::random::Draw;

fn found(calls: usize, mut one: impl FnMut(&mut Draw) -> f64) -> Vec<f64> {
    let mut draw = Draw::new(41, 0);
    let mut values: Vec<f64> = (0..calls).map(|_| one(&mut draw)).collect();
    values.sort_by(f64::total_cmp);
    find(&values, 0.0).iter().map(|place| place.at.round()).collect()
}

#[test]
fn sharp_exact_and_wide_teeth_are_places_with_few_calls_and_with_many() {
    for (calls, sigma) in [(30, 0.0), (60, 0.5), (300, 0.05), (3_000, 1.0)] {
        let teeth = found(calls, |draw| 100.0 * (1 + draw.below(3)) as f64 + sigma * draw.normal());
        assert_eq!(teeth, [100.0, 200.0, 300.0], "{calls} calls, deviation {sigma}");
    }
}

#[test]
fn smooth_calls_have_one_place_at_most() {
    assert!(found(2_000, |draw| 20.0 * (0.6 * draw.normal()).exp()).len() <= 1);
    assert!(found(2_000, |draw| 30.0 * draw.exponential()).len() <= 1);
    assert!(found(2_000, Draw::fraction).len() <= 1);
}
