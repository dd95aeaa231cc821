//! What a reader has to know.

use super::{is_short, waits_for_acknowledgements};

#[test]
fn a_few_random_arrivals_less_are_no_shortfall() {
    assert!(!is_short(93, 100.0));
    assert!(!is_short(9_800, 10_000.0));
    assert!(is_short(9_400, 10_000.0));
    assert!(is_short(0, 100.0));
}

#[test]
fn steps_of_40_ms_are_told_from_a_server_that_takes_40_ms() {
    assert!(waits_for_acknowledgements(0.2, 40.4));
    assert!(waits_for_acknowledgements(0.2, 47.9));
    assert!(!waits_for_acknowledgements(40.1, 40.9));
    assert!(!waits_for_acknowledgements(0.2, 200.0));
}
