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

#[test]
fn without_sessions_files_that_agree_are_believed_and_any_other_is_a_doubt() {
    let says = |offset, sessions: &[u64]| Testimony::Says(offset, sessions.to_vec());
    let cases = [
        ("both are of one journal", says(50, &[2, 1]), says(60, &[3, 2]), (60, false)),
        ("of two journals", says(50, &[2, 1]), says(60, &[4, 3]), (60, true)),
        ("one names no session", says(50, &[]), says(60, &[4, 3]), (60, false)),
        ("the other one", says(70, &[2, 1]), says(60, &[]), (70, false)),
        ("neither names one", says(50, &[]), says(40, &[]), (50, false)),
        ("one is missing", Testimony::Missing, says(60, &[4]), (60, false)),
        ("both are", Testimony::Missing, Testimony::Missing, (0, false)),
        ("the limit is garbage", Testimony::Broken, says(60, &[4]), (60, true)),
        ("the witness is", says(50, &[4]), Testimony::Broken, (50, true)),
    ];
    for (name, limit, witness, (durable, in_doubt)) in cases {
        let expected = Evidence { durable, in_doubt, former: vec![] };
        assert_eq!(weigh(&limit, &witness, &[], true), expected, "{name}");
    }
}

#[test]
fn of_a_directory_without_lines_the_witness_tells_what_was_removed() {
    let says = |offset, sessions: &[u64]| Testimony::Says(offset, sessions.to_vec());
    let cases = [
        ("it is new", Testimony::Missing, Testimony::Missing, (0, false, vec![])),
        ("nothing was written", says(0, &[1]), says(0, &[1]), (0, false, vec![])),
        ("it was removed", Testimony::Missing, says(60, &[2, 1]), (60, false, vec![2, 1])),
        ("its segments were", says(60, &[2]), says(60, &[2]), (60, false, vec![2])),
        ("an older version made both", says(60, &[]), says(60, &[]), (60, false, vec![])),
        ("it made a witness alone", Testimony::Missing, says(60, &[]), (0, true, vec![])),
        ("it says nothing beside it", Testimony::Broken, says(60, &[]), (0, true, vec![])),
        ("the witness is garbage", says(60, &[2]), Testimony::Broken, (0, true, vec![])),
    ];
    for (name, limit, witness, (durable, in_doubt, former)) in cases {
        let expected = Evidence { durable, in_doubt, former };
        assert_eq!(weigh(&limit, &witness, &[], false), expected, "{name}");
    }
}

#[test]
fn where_an_older_version_wrote_last_the_higher_offset_is_believed() {
    let old = Session { id: 3, ..Session::default() };
    let says = |offset| Testimony::Says(offset, vec![9]);
    for (limit, witness, durable) in [(says(50), says(60), 60), (says(70), Testimony::Broken, 70)] {
        let found = weigh(&limit, &witness, &[session(1), old.clone()], true);
        assert_eq!(found, Evidence { durable, in_doubt: false, former: vec![] });
    }
}
