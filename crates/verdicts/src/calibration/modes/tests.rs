//! The tables in short: a few sets of each cell.

use super::{OneMode, TwoModes};

#[test]
fn one_hump_is_rarely_called_several() {
    for family in OneMode::ALL {
        let alarms = family.alarms(50, 0..40) + family.alarms(500, 0..10);
        assert!(alarms <= 1, "{}: {alarms} of 50", family.name());
    }
}

#[test]
fn two_humps_apart_are_told_by_five_hundred_calls() {
    for slow in [0.1, 0.25, 0.5] {
        let humps = TwoModes { slow, ratio: 3.0, sigma: 0.15 };
        assert_eq!(humps.found(500, 0..10), 10, "{humps:?}");
    }
}
