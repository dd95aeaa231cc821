//! Claims about what a file is taken for, without any file.

use super::{Evidence, Identification, Suspect, identify};
use crate::error::SourceError;
use crate::source::files::log::LogId;
use crate::source::files::mark::Relation;

/// What is known of the logs 1 to 3 and of the file.
#[derive(Default)]
struct Known {
    free: Vec<LogId>,
    copies: Vec<LogId>,
    /// Logs whose own file cannot be compared with this one at present.
    away: Vec<LogId>,
    /// Logs of which the file is no copy, by its name.
    strangers: Vec<LogId>,
    is_damaged: bool,
    same_file: Option<LogId>,
}

impl Evidence for Known {
    fn is_free(&mut self, log: LogId) -> Result<bool, SourceError> {
        Ok(self.free.contains(&log))
    }

    fn is_copy(&mut self, log: LogId) -> Result<Option<bool>, SourceError> {
        Ok((!self.away.contains(&log)).then(|| self.copies.contains(&log)))
    }

    fn may_copy(&self, log: LogId) -> bool {
        !self.strangers.contains(&log)
    }

    fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    fn is_same_file(&self, log: LogId) -> bool {
        self.same_file == Some(log)
    }
}

fn suspect(log: LogId, offset: u64, relation: Relation) -> Suspect {
    Suspect { log, offset, relation }
}

fn first(suspects: &[Suspect], mut known: Known) -> Identification {
    identify(suspects, false, &mut known).unwrap()
}

fn second(suspects: &[Suspect], mut known: Known) -> Identification {
    identify(suspects, true, &mut known).unwrap()
}

#[test]
fn a_file_carries_the_log_without_a_file_that_was_read_furthest() {
    let suspects = [
        suspect(1, 10, Relation::Same),
        suspect(2, 30, Relation::Same),
        suspect(3, 20, Relation::Same),
    ];
    let known = |free: &[LogId]| Known { free: free.to_vec(), ..Known::default() };
    assert_eq!(first(&suspects, known(&[1, 2, 3])), Identification::Carrier(2));
    assert_eq!(first(&suspects, known(&[1, 3])), Identification::Carrier(3));
    assert_eq!(first(&suspects, known(&[])), Identification::Unfamiliar);
}

#[test]
fn a_file_with_nothing_more_than_a_logs_own_file_is_a_copy() {
    let suspects = [suspect(1, 10, Relation::Same), suspect(2, 5, Relation::Same)];
    let known = Known { copies: vec![1], free: vec![2], ..Known::default() };
    assert_eq!(first(&suspects, known), Identification::Copy(1));
    let known = Known { away: vec![1], free: vec![2], ..Known::default() };
    assert_eq!(first(&suspects, known), Identification::Undecided);
    let known = Known { free: vec![2], ..Known::default() };
    assert_eq!(first(&suspects, known), Identification::Carrier(2), "it has more than the log 1");
}

#[test]
fn a_file_that_is_a_logs_up_to_a_point_is_decided_at_the_second_look() {
    for relation in [Relation::Beginning, Relation::Diverged(7)] {
        let suspects = [suspect(1, 10, relation)];
        let known = || Known { free: vec![1], same_file: Some(1), ..Known::default() };
        assert_eq!(first(&suspects, known()), Identification::Doubtful);
        let decided = match relation {
            Relation::Diverged(from) => Identification::Changed(1, from),
            _ => Identification::Receded(1),
        };
        assert_eq!(second(&suspects, known()), decided);
        let damaged = Known { is_damaged: true, ..known() };
        assert_eq!(second(&suspects, damaged), Identification::Copy(1), "it is being packed");
    }
}

#[test]
fn another_file_that_went_another_way_is_another_log() {
    let suspects = [suspect(1, 10, Relation::Diverged(7))];
    let known = Known { free: vec![1], ..Known::default() };
    assert_eq!(second(&suspects, known), Identification::Unfamiliar);
}

#[test]
fn the_beginning_of_a_log_that_has_a_file_is_a_copy_or_another_log() {
    let suspects = [suspect(1, 10, Relation::Beginning)];
    let known = Known { copies: vec![1], ..Known::default() };
    assert_eq!(second(&suspects, known), Identification::Copy(1));
    assert_eq!(second(&suspects, Known::default()), Identification::Unfamiliar);
    let known = Known { away: vec![1], ..Known::default() };
    assert_eq!(second(&suspects, known), Identification::Undecided);
}

#[test]
fn a_log_that_goes_on_in_the_file_wins_over_one_that_ended_in_it() {
    let suspects = [suspect(1, 50, Relation::Beginning), suspect(2, 10, Relation::Same)];
    let known = Known { free: vec![1, 2], ..Known::default() };
    assert_eq!(first(&suspects, known), Identification::Carrier(2));
}

#[test]
fn a_file_of_another_log_is_no_copy_however_long_they_are_the_same() {
    let strange = || Known { copies: vec![1], strangers: vec![1], ..Known::default() };
    for relation in [Relation::Same, Relation::Beginning] {
        let suspects = [suspect(1, 10, relation)];
        assert_eq!(second(&suspects, strange()), Identification::Unfamiliar);
        let free = Known { free: vec![1], ..strange() };
        let expected = match relation {
            Relation::Same => Identification::Carrier(1),
            _ => Identification::Unfamiliar,
        };
        assert_eq!(second(&suspects, free), expected, "only a moved log has all that was read");
    }
}

#[test]
fn of_logs_with_the_same_content_a_file_has_the_one_that_was_read_from_it() {
    let suspects = [suspect(1, 10, Relation::Same), suspect(2, 30, Relation::Same)];
    let known = Known { free: vec![1, 2], same_file: Some(1), ..Known::default() };
    assert_eq!(first(&suspects, known), Identification::Carrier(1));
}

#[test]
fn what_is_left_of_a_log_is_its_own_file_or_one_that_may_be_a_copy_of_it() {
    let suspects = [suspect(1, 10, Relation::Beginning)];
    for (same_file, strangers, expected) in [
        (Some(1), vec![1], Identification::Receded(1)),
        (None, vec![], Identification::Receded(1)),
        (None, vec![1], Identification::Unfamiliar),
    ] {
        let known = Known { free: vec![1], same_file, strangers, ..Known::default() };
        assert_eq!(second(&suspects, known), expected, "{same_file:?}");
    }
}
