//! Claims about which file is believed of how far lines had been durable.

use super::*;

fn session(id: u64) -> Session {
    Session { id, is_marked: true, ..Session::default() }
}

#[test]
fn a_witness_counts_for_every_copy_of_its_journal_and_for_no_other() {
    let says = |offset, sessions: &[u64]| Testimony::Says(offset, sessions.to_vec());
    // The directory has the sessions 1 and 2, and its limit says 50.
    let cases = [
        ("it is of the same lines", says(50, &[2, 1]), (50, false, vec![])),
        ("it lags behind", says(40, &[1]), (50, false, vec![])),
        ("session 3 is gone with its lines", says(80, &[3, 2, 1]), (80, false, vec![3])),
        ("session 4 followed a copy without 2", says(90, &[4, 1]), (90, false, vec![4])),
        ("it is of another journal", says(90, &[8, 7]), (50, true, vec![])),
        ("it says nothing", Testimony::Broken, (50, true, vec![])),
        ("it is not there", Testimony::Missing, (50, false, vec![])),
    ];
    for (name, witness, (durable, in_doubt, former)) in cases {
        let found = weigh(&says(50, &[2, 1]), &witness, &[session(1), session(2)], true);
        assert_eq!(found, Evidence { durable, in_doubt, former }, "{name}");
    }
}
