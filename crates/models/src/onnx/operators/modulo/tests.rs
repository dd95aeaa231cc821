//! Remainders of integers at the ends of their range, where ONNX Runtime fails or rounds.

use super::{of_dividend, of_divisor};

#[test]
fn a_remainder_has_the_sign_of_the_divisor_or_of_the_dividend() {
    let pairs = [(7, 3), (-7, 3), (7, -3), (-7, -3), (6, -3)];
    assert_eq!(pairs.map(|(a, b)| of_divisor(a, b)), [1, 2, -2, -1, 0]);
    assert_eq!(pairs.map(|(a, b)| of_dividend(a, b)), [1, -1, 1, -1, 0]);
}

#[test]
fn no_pair_of_integers_panics_or_is_rounded() {
    for of in [of_divisor, of_dividend] {
        for (a, b) in [(i64::MIN, -1), (i64::MAX, i64::MAX), (5, 0), (i64::MIN, 0)] {
            assert_eq!(of(a, b), 0, "{a} and {b}");
        }
        assert_eq!(of(9_007_199_254_740_993, 10), 3);
    }
    assert_eq!(of_divisor(1, i64::MIN), i64::MIN + 1);
    assert_eq!(of_divisor(-1, i64::MAX), i64::MAX - 1);
    assert_eq!(of_dividend(-9_007_199_254_740_993, 10), -3);
}
