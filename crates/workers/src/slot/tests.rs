//! Loans of one worker, as they end in any order.

use std::path::Path;

use super::*;

fn slot(concurrency: usize) -> WorkerSlot {
    WorkerSlot::new(7, Path::new("/w7.sock").into(), concurrency, None)
}

#[test]
fn an_end_reported_before_its_abandonment_counts_for_it() {
    let mut slot = slot(1);
    slot.lend(1, Instant::now());
    assert_eq!(slot.free(), None);
    assert_eq!(slot.settle(LoanEnd::Abandoned, Instant::now()), [None, None]);
    assert_eq!((slot.loans, slot.abandoned), (0, 0));
}

#[test]
fn the_end_of_the_canary_is_none_of_a_loan() {
    let mut slot = slot(1);
    slot.owes_canary = true;
    slot.lend(1, Instant::now());
    assert_eq!(slot.free(), None);
    slot.settle(LoanEnd::Abandoned, Instant::now());
    assert_eq!((slot.loans, slot.abandoned), (1, 1), "the worker is still at it");
    assert_eq!(slot.free(), None);
    assert_eq!((slot.loans, slot.abandoned), (0, 0));
}

#[test]
fn an_end_reported_while_idle_counts_for_nothing() {
    let mut slot = slot(1);
    assert_eq!(slot.free(), None);
    slot.lend(1, Instant::now());
    slot.settle(LoanEnd::Abandoned, Instant::now());
    assert_eq!((slot.loans, slot.abandoned), (1, 1));
}

#[test]
fn only_broken_connections_are_cleared_by_a_sign_of_life() {
    let mut slot = slot(3);
    (1..=3).for_each(|number| slot.lend(number, Instant::now()));
    slot.settle(LoanEnd::Lost, Instant::now());
    slot.settle(LoanEnd::Abandoned, Instant::now());
    assert_eq!(slot.clear(), None);
    assert_eq!((slot.loans, slot.suspect, slot.abandoned), (2, 0, 1));
}

#[test]
fn a_request_that_takes_too_long_closes_the_slot() {
    let mut slot = slot(2);
    slot.lend(1, Instant::now());
    let commands = slot.settle(LoanEnd::TimedOut, Instant::now());
    assert_eq!(commands, [Some(PoolCommand::TimedOut(7)), None]);
    assert!(!slot.has_room());
}

#[test]
fn a_request_that_is_given_back_was_none_and_ends_lending_ahead() {
    let mut slot = slot(1);
    slot.quickness = Some(Quickness::default());
    slot.lend(1, Instant::now());
    assert_eq!(slot.settle(LoanEnd::GivenBack, Instant::now()), [None, None]);
    assert_eq!((slot.loans, slot.requests, slot.abandoned), (0, 0, 0));
    assert!(!slot.has_room_ahead(Instant::now()));
}
