//! Agendas by hand: what is due, what waits, and when nothing more comes.

use std::time::Duration;

use super::*;
use crate::{Arrivals, Target};

fn target() -> Target {
    "127.0.0.1:1".parse().unwrap()
}

fn closed(stop: Stop, warm_up_ns: u64) -> Agenda {
    let warm_up = Duration::from_nanos(warm_up_ns);
    Agenda::new(&Plan { warm_up, ..Plan::closed(target(), 1, stop) })
}

/// An open loop with arrivals at these times.
fn open(at: &[u64], stop: Stop) -> Agenda {
    Agenda::new(&Plan::open(target(), Arrivals::At(at.into()), 1, stop))
}

fn never() -> Stop {
    Stop::After(Duration::from_secs(3600))
}

/// Queues what is due, and returns how many that were.
fn admit(agenda: &mut Agenda, now: u64) -> usize {
    std::iter::from_fn(|| agenda.admit(now).then_some(())).count()
}

#[test]
fn a_closed_loop_always_has_a_request_until_its_number_is_reached() {
    let mut agenda = closed(Stop::Count(2), 0);
    assert!(!agenda.is_open_loop() && agenda.wants_connections());
    assert_eq!([agenda.take(5), agenda.take(7), agenda.take(9)], [Some(5), Some(7), None]);
    assert_eq!(agenda.stopped_ns(), Some(7));
    assert!(agenda.is_over() && !agenda.wants_connections());
}

#[test]
fn requests_of_the_warm_up_do_not_count_towards_the_number() {
    let mut agenda = closed(Stop::Count(1), 100);
    assert_eq!([agenda.take(5), agenda.take(99), agenda.take(100)], [5, 99, 100].map(Some));
    assert_eq!(agenda.take(101), None);
}

#[test]
fn a_run_that_stops_by_time_does_so_behind_its_warm_up() {
    let mut agenda = closed(Stop::After(Duration::from_nanos(50)), 100);
    assert_eq!(agenda.next_due(), 150);
    agenda.stop_when_due(149);
    assert!(agenda.take(149).is_some());
    agenda.stop_when_due(150);
    assert_eq!((agenda.take(150), agenda.next_due()), (None, u64::MAX));
}

#[test]
fn an_open_loop_queues_what_is_due_and_hands_it_out_by_intended_time() {
    let mut agenda = open(&[10, 20, 30], never());
    assert_eq!((admit(&mut agenda, 9), agenda.next_due()), (0, 10));
    assert_eq!((admit(&mut agenda, 25), agenda.next_due()), (2, 30));
    assert!(agenda.wants_connections());
    assert_eq!((agenda.waiting(), agenda.oldest()), (2, Some(10)));
    assert_eq!([agenda.take(40), agenda.take(40), agenda.take(40)], [Some(10), Some(20), None]);
    assert!(!agenda.wants_connections(), "nothing waits");
}

#[test]
fn an_open_loop_ends_with_its_last_arrival() {
    let mut agenda = open(&[10], never());
    assert_eq!(admit(&mut agenda, 10), 1);
    agenda.stop_when_due(11);
    assert_eq!(agenda.stopped_ns(), Some(11));
    assert!(!agenda.is_over(), "one waits");
    assert_eq!(agenda.take(12), Some(10));
    assert!(agenda.is_over());
}

#[test]
fn after_the_stop_nothing_becomes_due_and_what_waits_stays() {
    let mut agenda = open(&[10, 20], never());
    admit(&mut agenda, 10);
    agenda.stop(15);
    agenda.stop(17);
    assert_eq!((admit(&mut agenda, 20), agenda.waiting()), (0, 1));
    assert_eq!(agenda.stopped_ns(), Some(15), "the first stop stands");
}

#[test]
fn only_what_waits_too_long_is_given_up() {
    let mut agenda = open(&[10, 20, 30], never());
    admit(&mut agenda, 30);
    assert_eq!([agenda.take_overdue(20), agenda.take_overdue(20)], [Some(10), None]);
    assert_eq!(agenda.oldest(), Some(20));
}

#[test]
fn more_than_may_wait_are_given_up_the_oldest_first() {
    let at: Vec<u64> = (0..=BACKLOG_MAX as u64 + 2).collect();
    let mut agenda = open(&at, never());
    assert_eq!(admit(&mut agenda, u64::MAX - 1), BACKLOG_MAX + 3);
    let given_up: Vec<u64> = std::iter::from_fn(|| agenda.take_overdue(0)).collect();
    assert_eq!(given_up, [0, 1, 2]);
    assert_eq!(agenda.waiting(), BACKLOG_MAX);
}
