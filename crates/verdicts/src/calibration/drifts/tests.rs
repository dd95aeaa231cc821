//! The tables in short: a few sets of each cell.

use super::*;

#[test]
fn calls_that_do_not_change_rarely_show_a_change() {
    let (mut changes, mut bins) = (0, 0);
    for steady in SteadyCalls::ALL {
        for calls in [160, 1_000] {
            let counts = steady.alarms(3, calls, 0..5);
            changes += counts.changes;
            bins += counts.bins;
        }
    }
    assert!(changes * 1_000 <= bins, "{changes} changes in {bins} bins");
}

#[test]
fn planted_changes_are_found_where_they_are() {
    for planted in [PlantedChange::Double, PlantedChange::Rate] {
        let counts = planted.found(3, 5_000, 0..10);
        let name = planted.name();
        assert!(counts.found == 10 && counts.near >= 8, "{name}: {counts:?}");
        assert!(counts.shaped >= 8 && counts.covered >= 7, "{name}: {counts:?}");
    }
}
