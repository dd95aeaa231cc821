//! Bursts count once, independent calls each.

use super::collapsed;
use crate::random::Draw;

#[test]
fn a_burst_that_ends_together_is_one_call() {
    let mut draw = Draw::new(2, 0);
    let bursts = (0..40).flat_map(|_| {
        let answered = 2_000.0 * draw.fraction();
        (0..8).map(move |call| answered - 4.0 * f64::from(call))
    });
    let left = collapsed(&bursts.collect::<Vec<f64>>()).len();
    assert!((38..=44).contains(&left), "{left}");
}

#[test]
fn independent_calls_are_left_alone() {
    let mut draw = Draw::new(3, 0);
    let calls: Vec<f64> =
        (0..300).map(|_| 500.0 * draw.below(3) as f64 + draw.fraction()).collect();
    assert_eq!(collapsed(&calls), calls);
    assert_eq!(collapsed(&[1.0, 2.0]), [1.0, 2.0]);
}
