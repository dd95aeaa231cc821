//! What a reader has to know.

use super::is_short;

#[test]
fn a_few_random_arrivals_less_are_no_shortfall() {
    assert!(!is_short(93, 100.0));
    assert!(!is_short(9_800, 10_000.0));
    assert!(is_short(9_400, 10_000.0));
    assert!(is_short(0, 100.0));
}
