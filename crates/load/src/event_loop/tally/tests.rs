//! Counts around the end of the warm-up.

use std::time::Duration;

use super::*;
use crate::Stop;

/// A tally whose warm-up takes 100 ns.
fn tally() -> Tally {
    let plan = Plan::closed("127.0.0.1:1".parse().unwrap(), 1, Stop::Count(1));
    Tally::new(&Plan { warm_up: Duration::from_nanos(100), ..plan })
}

fn request(intended_ns: u64, status: Option<u16>) -> InFlight {
    InFlight { ask: Ask { status, ..Ask::default() }, intended_ns, sent_ns: intended_ns + 1000 }
}

#[test]
fn a_request_of_the_warm_up_is_not_counted_however_late_its_reply_comes() {
    let mut tally = tally();
    let reader = ReplyReader::default();
    assert!(!tally.reply(&request(99, None), &reader, 5_000_099));
    assert!(tally.reply(&request(100, None), &reader, 5_000_099));
    tally.lose(99, Loss::Timeout);
    tally.skip(99);
    tally.refuse(Some(99));
    let report = tally.finish(0, None);
    assert_eq!((report.requests, report.errors.total()), (1, 0));
}

#[test]
fn latency_counts_from_the_intended_time_and_service_from_the_sending() {
    let mut tally = tally();
    tally.reply(&request(100, Some(200)), &ReplyReader::default(), 1_000_100);
    let report = tally.finish(0, None);
    assert_eq!((report.latency.max(), report.service.max()), (1000, 999));
    assert_eq!((report.requests, report.status_mismatches), (1, 1));
    assert!((report.seconds - 0.001).abs() < 1e-9);
}

#[test]
fn each_loss_is_counted_where_it_belongs() {
    let mut tally = tally();
    for loss in [Loss::Closed, Loss::Timeout, Loss::Malformed, Loss::Unasked, Loss::Cut] {
        tally.lose(100, loss);
    }
    tally.skip(100);
    tally.refuse(None);
    let lost =
        Errors { timeout: 1, closed: 1, malformed: 1, unasked: 1, cut: 1, unsent: 1, connect: 1 };
    assert_eq!(tally.errors(), lost);
}

#[test]
fn what_was_not_asked_for_is_counted_by_what_it_makes_doubtful() {
    let mut tally = tally();
    tally.unasked(7, true);
    tally.unasked(5, false);
    assert_eq!(tally.errors().unasked, 0);
    tally.unasked(0, false);
    assert_eq!(tally.errors().unasked, 1);
    assert_eq!(tally.finish(0, None).doubtful, 12);
}

#[test]
fn a_run_lasts_until_its_stop_even_if_the_last_reply_came_before() {
    let mut tally = tally();
    tally.reply(&request(100, None), &ReplyReader::default(), 1_000_100);
    let report = tally.finish(2_000_000_100, Some("connection refused".to_owned()));
    assert!((report.seconds - 2.0).abs() < 1e-9);
    assert_eq!(report.refusal.as_deref(), Some("connection refused"));
}
