//! Claims about sets of bytes.

use super::*;

type Bounds = (u64, u64);

fn left(whole: Bounds, others: &[Bounds]) -> Vec<Bounds> {
    let others = others.iter().map(|(start, end)| *start..*end).collect();
    let left = without(whole.0..whole.1, others);
    left.into_iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn what_is_taken_away_from_a_range_may_overlap_and_reach_beyond_it() {
    assert_eq!(left((10, 20), &[]), [(10, 20)]);
    assert_eq!(left((10, 20), &[(12, 14), (13, 16)]), [(10, 12), (16, 20)]);
    assert_eq!(left((10, 20), &[(5, 12), (18, 30)]), [(12, 18)]);
    assert_eq!(left((10, 20), &[(0, 40)]), []);
    assert_eq!(left((10, 20), &[(20, 40), (0, 10)]), [(10, 20)]);
    assert_eq!(left((20, 20), &[]), []);
}

#[test]
fn ranges_that_touch_are_one() {
    assert_eq!(joined(vec![5..7, 1..3, 3..4, 9..9]), [1..4, 5..7]);
    assert_eq!(bytes(&[1..4, 5..7]), 5);
}
