//! Claims about clocks.

use std::sync::atomic::AtomicUsize;

use super::{ClockSteps, Origin};

#[test]
fn a_step_is_noted_once_with_its_size_and_slewing_is_not() {
    let mut steps = ClockSteps::new((0.0, 1e12));
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
    for (until, awake) in [(0, 1), (200_000, 1), (3_000_000, 2), (1, 2)] {
        origin.sleep_until(until, super::SPIN_MIN);
        origin.look_until(until, &AtomicUsize::new(awake));
        assert!(origin.ns() >= until);
    }
}
