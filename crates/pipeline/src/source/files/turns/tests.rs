//! Claims about whose turn it is.

use super::{Remainder, RemainderDecision, TurnQueue};

const END: u64 = 10;

/// The logs whose turns come, each read to its end at once.
fn order(turns: &mut TurnQueue) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(log) = turns.next(|_| Some(END)) {
        order.push(log);
        turns.end();
    }
    order
}

#[test]
fn a_log_waits_once_however_often_it_is_woken() {
    let mut turns = TurnQueue::default();
    [3, 1, 3, 2, 1].into_iter().for_each(|log| turns.wake(log));
    assert_eq!(order(&mut turns), [3, 1, 2]);
    turns.wake(3);
    assert_eq!(order(&mut turns), [3]);
}

#[test]
fn a_log_that_grows_during_its_turn_lets_the_others_go_first() {
    let mut turns = TurnQueue::default();
    turns.wake(1);
    assert_eq!(turns.next(|_| Some(END)), Some(1));
    turns.wake(1);
    assert!(turns.is_idle(), "it has its turn");
    assert_eq!(turns.go_on(|_| Some(END - 1)), Some(1));
    assert_eq!(turns.go_on(|_| Some(END)), Some(1), "nobody else waits");
    turns.wake(2);
    assert_eq!(turns.go_on(|_| Some(END - 1)), Some(1), "its turn is not over");
    assert_eq!(turns.go_on(|_| Some(END)), None);
    assert_eq!(order(&mut turns), [2, 1]);
}

#[test]
fn a_log_that_is_gone_has_no_turn() {
    let mut turns = TurnQueue::default();
    [1, 2].into_iter().for_each(|log| turns.wake(log));
    assert_eq!(turns.next(|log| (log != 1).then_some(END)), Some(2));
    turns.wake(3);
    assert_eq!(turns.go_on(|_| None), None);
    assert_eq!(turns.next(|log| (log != 2).then_some(END)), Some(3));
}

#[test]
fn those_that_wait_are_sorted_by_what_decides() {
    let mut turns = TurnQueue::default();
    [1, 2, 3].into_iter().for_each(|log| turns.wake(log));
    turns.sort_by_key(|log| 10 - log);
    assert_eq!(order(&mut turns), [3, 2, 1]);
}

#[test]
fn a_rest_is_given_up_once_nobody_can_complete_it() {
    let rest = Remainder { is_waiting: false, is_whole: false, is_quiet: true, behind: 5 };
    let quiet = Remainder { is_quiet: false, ..rest };
    for (rest, decision) in [
        (rest, RemainderDecision::GiveUp),
        (Remainder { behind: 0, ..rest }, RemainderDecision::Retire),
        (Remainder { is_waiting: true, ..rest }, RemainderDecision::Wait),
        (Remainder { is_waiting: true, behind: 0, ..rest }, RemainderDecision::Wait),
        (quiet, RemainderDecision::Wait),
        (Remainder { behind: 0, ..quiet }, RemainderDecision::Wait),
        // Of a packed file nothing more can come.
        (Remainder { is_whole: true, ..quiet }, RemainderDecision::GiveUp),
        (Remainder { is_whole: true, behind: 0, ..quiet }, RemainderDecision::Retire),
    ] {
        assert_eq!(rest.decide(), decision, "{rest:?}");
    }
}

#[test]
fn what_lingers_stays_until_it_is_forgotten() {
    let mut turns = TurnQueue::default();
    [1, 2, 1, 3].into_iter().for_each(|log| turns.linger(log));
    assert_eq!(turns.lingering(), [1, 2, 3]);
    turns.forget_rest(2);
    assert_eq!(turns.lingering(), [1, 3]);
}

#[test]
fn turns_are_counted_also_over_a_new_beginning() {
    let mut turns = TurnQueue::default();
    [1, 2].into_iter().for_each(|log| turns.wake(log));
    assert_eq!(turns.turns(), 0);
    order(&mut turns);
    assert_eq!((turns.turns(), turns.next(|_| Some(END))), (2, None));
    turns.clear();
    turns.wake(3);
    order(&mut turns);
    assert_eq!(turns.turns(), 3);
}
