//! The table in short: a few sets of each cell.

use super::{Beside, CombSample, NullFamily, false_alarms, found};

#[test]
fn samples_without_a_comb_are_rarely_called_quantised() {
    // Calls that come together look like those of one tooth: docs/lab/trust.md says how often.
    let alone = NullFamily::ALL.into_iter().filter(|family| *family != NullFamily::Bursts);
    for family in alone {
        let alarms = false_alarms(family, 50, 0..60) + false_alarms(family, 500, 0..6);
        assert!(alarms <= 1, "{}: {alarms} of 66", family.name());
    }
}

#[test]
fn combs_are_found_and_their_quantum_is_in_the_interval() {
    let counts =
        found(CombSample { calls: 50, share: 1.0, teeth: 3, beside: Beside::Evenly }, 0..12);
    assert!(counts.found >= 10 && counts.covered + 2 >= counts.found, "{counts:?}");
}
