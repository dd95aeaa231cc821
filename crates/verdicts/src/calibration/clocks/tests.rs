//! The table in short: a few sets of each cell. `calibrate` counts it whole.

use super::{Starts, locked_alarms, ticks_found};

#[test]
fn calls_that_know_no_clock_are_not_called_locked() {
    // One in a thousand expected. What locks one set in five by itself shows here; rarer alarms
    // only in the whole table.
    for starts in Starts::ALL {
        let alarms = locked_alarms(starts, 50, 0..12) + locked_alarms(starts, 500, 0..12);
        assert_eq!(alarms, 0, "{}", starts.name());
    }
}

#[test]
fn a_tick_that_half_of_the_calls_end_with_is_found() {
    assert!(ticks_found(0.5, 500, 0..20) >= 19);
}
