//! Loans of one worker, as they end in any order.

use std::path::Path;

use super::*;

fn seat(concurrency: usize) -> Seat {
    Seat::new(7, Path::new("/w7.sock").into(), concurrency, None)
}

#[test]
fn an_end_told_before_its_abandonment_counts_for_it() {
    let mut seat = seat(1);
    seat.lend(1);
    assert_eq!(seat.free(), None);
    assert_eq!(seat.settle(Outcome::Abandoned, Instant::now()), [None, None]);
    assert_eq!((seat.loans, seat.abandoned), (0, 0));
}

#[test]
fn an_end_told_while_idle_counts_for_nothing() {
    let mut seat = seat(1);
    assert_eq!(seat.free(), None);
    seat.lend(1);
    seat.settle(Outcome::Abandoned, Instant::now());
    assert_eq!((seat.loans, seat.abandoned), (1, 1));
}

#[test]
fn only_broken_connections_are_cleared_by_a_sign_of_life() {
    let mut seat = seat(3);
    (1..=3).for_each(|number| seat.lend(number));
    seat.settle(Outcome::Lost, Instant::now());
    seat.settle(Outcome::Abandoned, Instant::now());
    assert_eq!(seat.clear(), None);
    assert_eq!((seat.loans, seat.suspect, seat.abandoned), (2, 0, 1));
}

#[test]
fn a_request_that_takes_too_long_closes_the_seat() {
    let mut seat = seat(2);
    seat.lend(1);
    let told = seat.settle(Outcome::TimedOut, Instant::now());
    assert_eq!(told, [Some(Command::TimedOut(7)), None]);
    assert!(!seat.has_room());
}
