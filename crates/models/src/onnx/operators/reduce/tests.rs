//! Integers that a double does not hold; ONNX Runtime loses their digits.

use super::*;

const LARGE: i64 = (1 << 53) + 1;

fn of(what: Reduction, numbers: &[i64]) -> i64 {
    what.of_integers(numbers.iter().copied())
}

#[test]
fn integers_keep_every_digit() {
    assert_eq!(of(Reduction::Sum, &[LARGE, 0, -2]), LARGE - 2);
    assert_eq!(of(Reduction::Mean, &[LARGE, LARGE, LARGE]), LARGE);
    assert_eq!(of(Reduction::Mean, &[-7, 2]), -2, "cut towards 0");
    assert_eq!(of(Reduction::Prod, &[LARGE, 1, -3]), LARGE * -3);
    assert_eq!(of(Reduction::Min, &[LARGE, LARGE - 1]), LARGE - 1);
    assert_eq!(of(Reduction::Max, &[-LARGE, -LARGE - 1]), -LARGE);
    assert_eq!(of(Reduction::L1, &[LARGE, -1, 3]), LARGE + 4);
    assert_eq!(of(Reduction::SumSquare, &[94_906_267, 2]), 94_906_267 * 94_906_267 + 4);
    assert_eq!(of(Reduction::L2, &[3_037_000_499]), 3_037_000_499);
}

#[test]
fn integers_are_held_within_64_bits() {
    for what in [Reduction::Sum, Reduction::Prod, Reduction::L1, Reduction::SumSquare] {
        assert_eq!(of(what, &[i64::MAX; 5]), i64::MAX, "{what:?}");
    }
    assert_eq!(of(Reduction::Sum, &[i64::MIN; 2]), i64::MIN);
    assert_eq!(of(Reduction::Sum, &[i64::MAX, i64::MAX, i64::MIN]), i64::MAX - 1, "at the end");
    assert_eq!(of(Reduction::Mean, &[i64::MAX; 2]), i64::MAX);
    assert_eq!(of(Reduction::L2, &[i64::MIN; 9]), i64::MAX);
}

#[test]
fn of_no_integers_there_is_the_neutral_one() {
    let all = [Reduction::Sum, Reduction::Prod, Reduction::Min, Reduction::Max, Reduction::Mean];
    assert_eq!(all.map(|what| of(what, &[])), [0, 1, i64::MAX, i64::MIN, 0]);
}

#[test]
fn nan_wins_wherever_it_stands() {
    for numbers in [[f32::NAN, 1.0, 2.0], [1.0, f32::NAN, 2.0], [1.0, 2.0, f32::NAN]] {
        for what in [Reduction::Min, Reduction::Max] {
            assert!(what.of_floats(numbers.iter().copied()).is_nan(), "{what:?} of {numbers:?}");
        }
    }
}
