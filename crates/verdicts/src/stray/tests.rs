//! Which calls one hump holds.

use super::together_share;

#[test]
fn a_few_far_calls_are_not_held_and_a_tail_is() {
    let mut values: Vec<f64> = (0..36).map(|at| 18.0 + f64::from(at * 7 % 11) / 3.0).collect();
    values.extend([590.0, 591.0, 588.0, 593.0]);
    assert_eq!(together_share(&values), 0.9);
    let tail: Vec<f64> = (1..400).map(|at| -(f64::from(at) / 400.0).ln()).collect();
    assert_eq!(together_share(&tail), 1.0);
    assert_eq!((together_share(&[]), together_share(&[5.0])), (1.0, 1.0));
    // Equal calls, and one a little slower, are one hump.
    assert_eq!(together_share(&[5.0, 5.0, 5.0, 5.0, 5.4]), 1.0);
}
