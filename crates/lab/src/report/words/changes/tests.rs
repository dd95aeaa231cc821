//! Claims about changes in words.

use super::*;
use crate::report::Words;
use verdicts::Verdict;

fn in_words(change: &ChangeVerdict) -> Words {
    crate::report::in_words(&Verdict::Change(change.clone()))
}

fn median() -> ChangedQuantity {
    ChangedQuantity {
        name: "p50".into(),
        before: 45.0,
        after: 60.75,
        part: 0.35,
        ci: [0.31, 0.39],
        ..ChangedQuantity::default()
    }
}

fn change() -> ChangeVerdict {
    ChangeVerdict {
        at_ms: 600_000.0,
        at_ci_ms: [540_000.0, 660_000.0],
        quantities: vec![median()],
        p: 0.001,
        ..ChangeVerdict::default()
    }
}

#[test]
fn a_step_is_said_with_its_moment_and_its_size() {
    let words = in_words(&change());
    let sentence = "p50 rises at 10.0 min after the first call by 35 %, from 45.0 ms to 60.8 ms.";
    assert_eq!((words.title.as_str(), words.sentence.as_str()), ("change", sentence));
    assert_eq!(words.ink, Ink::Alarm);
    let figures = words.figures.join(" | ");
    assert!(figures.contains("31 % to 39 % (95 %); by chance: at most p = 0.0010"), "{figures}");
    assert!(figures.contains("between 9.00 min"), "{figures}");
}

#[test]
fn a_ramp_is_said_from_one_time_of_day_to_another() {
    let ramp = ChangeVerdict {
        until_ms: Some(6_000_000.0),
        began_unix_ms: Some(1_700_000_000_123.0),
        ..change()
    };
    let words = in_words(&ramp);
    assert_eq!(words.title, "slow change");
    let when = "rises from 2023-11-14T22:23:20Z to 2023-11-14T23:53:20Z by 35 %";
    assert!(words.sentence.contains(when), "{}", words.sentence);
}

#[test]
fn a_fall_is_no_fault_and_may_be_a_recovery() {
    let fall = ChangedQuantity { part: -0.25, ci: [-0.3, -0.2], after: 33.75, ..median() };
    let words = in_words(&ChangeVerdict { quantities: vec![fall], is_recovery: true, ..change() });
    assert!(words.sentence.ends_with("to 33.8 ms, back to what it was before."), "{words:?}");
    assert!(words.figures[0].starts_with("20 % to 30 %"), "{words:?}");
    assert_eq!(words.ink, Ink::Plain);
}

#[test]
fn a_share_changes_by_points_and_a_rate_is_no_fault() {
    let share = ChangedQuantity {
        name: "share".into(),
        over_ms: Some(120.0),
        before: 0.05,
        after: 0.1,
        part: 0.05,
        ci: [0.04, 0.06],
    };
    let rate = ChangedQuantity { name: "rate".into(), before: 2.0, after: 4.0, ..median() };
    let words = in_words(&ChangeVerdict { quantities: vec![share], ..change() });
    let said =
        "The share of calls over 120 ms rises at 10.0 min after the first call by 5.0 points";
    assert!(words.sentence.starts_with(said), "{}", words.sentence);
    let words = in_words(&ChangeVerdict { quantities: vec![rate], ..change() });
    assert!(words.sentence.contains("from 2.00 to 4.00 a second"), "{}", words.sentence);
    assert_eq!(words.ink, Ink::Plain);
}
