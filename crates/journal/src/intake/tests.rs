//! Which lines are taken, in every mode.

use super::*;

fn open(on_full: OnFull) -> Intake {
    let mut options = Options::new("/journal");
    (options.on_full, options.lane_bytes_max) = (on_full, 100);
    Intake::new(&options)
}

/// Whether a line is taken, without a ticket and with one.
fn accepts(intake: &Intake) -> [bool; 2] {
    [false, true].map(|wants_ticket| intake.accepts(99, wants_ticket))
}

#[test]
fn lines_without_a_ticket_are_taken_while_writing_fails_if_the_journal_serves() {
    for (on_full, while_failing) in [(OnFull::Serve, [true, false]), (OnFull::Refuse, [false; 2])] {
        let intake = open(on_full);
        assert_eq!((accepts(&intake), intake.is_recording()), ([true; 2], true));
        intake.set_failing(true);
        assert_eq!((accepts(&intake), intake.is_recording()), (while_failing, false));
        intake.set_failing(false);
        assert_eq!(accepts(&intake), [true; 2]);
    }
}

#[test]
fn a_lane_at_its_bound_takes_nothing() {
    assert!(!open(OnFull::Serve).accepts(100, false));
}

#[test]
fn a_closed_journal_stays_closed() {
    let intake = open(OnFull::Serve);
    intake.close();
    intake.set_failing(true);
    intake.set_failing(false);
    assert!(intake.is_closed() && accepts(&intake) == [false; 2]);
}

#[test]
fn each_line_that_is_not_taken_has_a_reason_and_is_counted() {
    let intake = open(OnFull::Serve);
    assert_eq!(intake.refuse_line(), Unrecorded::Dropped);
    intake.close();
    assert_eq!(intake.refuse_line(), Unrecorded::Closed);
    assert_eq!(open(OnFull::Refuse).refuse_line(), Unrecorded::Refused);
    assert_eq!(intake.unrecorded(), 2);
}
