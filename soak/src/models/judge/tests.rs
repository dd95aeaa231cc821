//! Claims about the judge: what it must catch is put before it.

use std::time::Instant;

use super::{Answer, VersionLog, judged};

/// Version 0 answers 0, 1; version 1 answers 10, 11; and so on.
fn expected(version: usize) -> Vec<f64> {
    vec![version as f64 * 10.0, version as f64 * 10.0 + 1.0]
}

fn answer(version: &str, numbers: &[f64]) -> Answer {
    Answer { version: Some(version.to_owned()), numbers: numbers.to_vec() }
}

fn verdict(answer: &Answer, possible: &[Option<usize>]) -> Result<usize, String> {
    let names = ["a", "b", "c"].map(str::to_owned);
    judged(answer, possible, &names, expected)
}

#[test]
fn an_answer_of_a_possible_version_is_right() {
    assert_eq!(verdict(&answer("b", &[10.0, 11.0]), &[Some(0), Some(1)]), Ok(1));
    let unnamed = Answer { version: None, numbers: vec![0.0, 1.0] };
    assert_eq!(verdict(&unnamed, &[None, Some(0)]), Ok(0));
}

#[test]
fn an_answer_of_another_time_is_wrong() {
    let reason = verdict(&answer("c", &[20.0, 21.0]), &[Some(0), Some(1)]).unwrap_err();
    assert!(reason.starts_with("version 2, which could not answer then"), "{reason}");
    let unloaded = verdict(&answer("a", &[0.0, 1.0]), &[None]).unwrap_err();
    assert!(unloaded.starts_with("version 0"), "{unloaded}");
}

#[test]
fn an_answer_that_mixes_two_possible_versions_is_wrong() {
    let reason = verdict(&answer("a", &[0.0, 11.0]), &[Some(0), Some(1)]).unwrap_err();
    assert!(reason.contains("[1] is 11, 1 in version 0"), "{reason}");
}

#[test]
fn an_answer_under_the_name_of_another_version_is_wrong() {
    assert!(verdict(&answer("b", &[0.0, 1.0]), &[Some(0), Some(1)]).is_err());
}

#[test]
fn a_number_that_is_off_by_one_bit_or_missing_is_wrong() {
    let off = f64::from_bits(10.0_f64.to_bits() + 1);
    assert!(verdict(&answer("b", &[off, 11.0]), &[Some(1)]).is_err());
    assert!(verdict(&answer("b", &[f64::NAN, 11.0]), &[Some(1)]).is_err());
    let short = verdict(&answer("b", &[10.0]), &[Some(1)]).unwrap_err();
    assert!(short.contains("1 of them, 2 were due"), "{short}");
}

#[test]
fn what_is_not_a_number_is_compared_as_such() {
    let expected = |_| vec![f64::NAN];
    let names = ["a".to_owned()];
    assert_eq!(judged(&answer("a", &[f64::NAN]), &[Some(0)], &names, expected), Ok(0));
    assert!(judged(&answer("a", &[0.0]), &[Some(0)], &names, expected).is_err());
}

#[test]
fn a_version_is_possible_from_its_writing_until_another_one_is_shown() {
    let log = VersionLog::default();
    log.begin(Some(0));
    log.only(Some(0));
    let before = Instant::now();
    assert_eq!(log.possible(before, before), [Some(0)]);
    log.begin(Some(1));
    let between = Instant::now();
    assert_eq!(log.possible(between, between), [Some(0), Some(1)]);
    // A request that began before the writing, and ends behind it.
    assert_eq!(log.possible(before, between), [Some(0), Some(1)]);
    log.only(Some(1));
    let behind = Instant::now();
    assert_eq!(log.possible(before, before), [Some(0)]);
    assert_eq!(log.possible(between, behind), [Some(0), Some(1)]);
    assert_eq!(log.possible(behind, behind), [Some(1)]);
}

#[test]
fn a_version_that_comes_back_is_possible_again() {
    let log = VersionLog::default();
    for version in [Some(0), None, Some(0)] {
        log.begin(version);
        log.only(version);
    }
    let now = Instant::now();
    assert_eq!(log.possible(now, now), [Some(0)]);
}
