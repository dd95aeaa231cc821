//! Claims about clocks.

use super::{Origin, Steps};

#[test]
fn a_step_is_noted_once_with_its_size_and_slewing_is_not() {
    let mut steps = Steps::new((0.0, 1e12));
    steps.look((50.0, 1e12 + 50.0 + 0.02));
    steps.look((10_050.0, 1e12 + 10_050.0 + 5.0));
    assert_eq!(steps.seen, []);
    steps.look((10_100.0, 1e12 + 10_100.0 - 1_195.0));
    steps.look((10_150.0, 1e12 + 10_150.0 - 1_195.0));
    assert_eq!(steps.seen, [(10_100.0, -1_200.0)]);
}

#[test]
fn a_wait_never_ends_early_and_one_for_the_past_ends_at_once() {
    let origin = Origin::now();
    for until in [0, 200_000, 3_000_000, 1] {
        origin.wait_until(until, super::SPIN_MIN);
        assert!(origin.ns() >= until);
    }
}
