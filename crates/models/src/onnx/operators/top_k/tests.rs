//! Numbers that have no order among themselves.

use super::*;

#[test]
fn any_numbers_can_be_sorted_and_nan_stands_last() {
    // Sorting panics where an order contradicts itself; short lists do not show it.
    let mut numbers: Vec<f32> =
        (0..300).map(|at| if at % 3 == 0 { f32::NAN } else { (at * 7919 % 101) as f32 }).collect();
    numbers.sort_unstable_by(|a, b| compare(*a, *b));
    assert!(numbers[..200].is_sorted(), "{numbers:?}");
    assert!(numbers[200..].iter().all(|number| f32::is_nan(*number)), "{numbers:?}");
}
