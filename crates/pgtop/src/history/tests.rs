//! Samples of invented sessions.

use super::*;
use crate::frame::SessionClient;

fn session(wait: Option<(&str, &str)>, query: &str, user: &str) -> PgSession {
    PgSession {
        client: SessionClient { user: user.to_owned(), ..SessionClient::default() },
        state: "active".to_owned(),
        wait: wait.map(|(class, event)| (class.to_owned(), event.to_owned())),
        query: query.to_owned(),
        ..PgSession::default()
    }
}

fn frame(second: i64, sessions: Vec<PgSession>) -> PgFrame {
    PgFrame { time_us: second * 1_000_000, sessions, ..PgFrame::default() }
}

#[test]
fn queries_that_differ_in_values_only_are_one() {
    let query = without_values("SELECT  *\nFROM t1 WHERE a = 17.5 AND b = 'it''s' AND c = $1");
    assert_eq!(query, "SELECT * FROM t1 WHERE a = ? AND b = ? AND c = $1");
    assert_eq!(without_values("SELECT 'never closed"), "SELECT ?");
    assert_eq!(without_values(""), "(no query)");
}

#[test]
fn a_chart_has_mean_busy_sessions_by_level_and_the_same_sum_on_each() {
    let mut history = WaitHistory::new(100);
    let io = || session(Some(("IO", "DataFileRead")), "SELECT 1", "ann");
    let lock = |user| session(Some(("Lock", "tuple")), "UPDATE t SET a = 2", user);
    history.push(&frame(10, vec![io(), session(None, "SELECT 2", "bob")]));
    history.push(&frame(11, vec![io(), lock("ann")]));
    history.push(&frame(13, vec![lock("bob"), lock("bob"), lock("ann")]));
    history.push(&frame(13, vec![lock("bob")]));
    let window = WaitWindow { end_us: 14_000_000, bar_us: 2_000_000, bars: 3 };
    let chart = history.chart(window, &[]);
    assert_eq!(chart.labels, ["CPU", "IO", "Lock"]);
    let bars = [None, Some(vec![0.5, 1.0, 0.5]), Some(vec![0.0, 0.0, 3.0])];
    assert_eq!(chart.bars, bars);

    let path = ["Lock", "tuple", "UPDATE t SET a = ?"].map(str::to_owned);
    let shares = history.shares(window.bar(2), &path);
    let users: Vec<(&str, f64)> = shares.iter().map(|it| (&*it.label, it.sessions)).collect();
    assert_eq!(users, [("bob", 2.0), ("ann", 1.0)]);
    for depth in 0..=2 {
        let shares = history.shares((0, i64::MAX), &path[..depth]);
        let sum: f64 = shares.iter().map(|share| share.sessions).sum();
        let wanted = if depth == 0 { 7.0 / 3.0 } else { 4.0 / 3.0 };
        assert!((sum - wanted).abs() < 1e-9, "depth {depth}: {sum}");
    }
}

#[test]
fn what_a_chart_does_not_tell_apart_is_one_label_at_its_end() {
    let mut history = WaitHistory::new(1);
    let wait = |event: &str| session(Some(("IO", event)), "SELECT 1", "ann");
    let often = ["a", "b", "c", "d", "e", "f"].into_iter().flat_map(|event| [event; 2]);
    // As it is counted beyond the bound of ways to wait.
    let events = often.chain(["g"]).chain([OTHER; 5]);
    history.push(&frame(0, events.map(wait).collect()));
    let window = WaitWindow { end_us: 1_000_000, bar_us: 1_000_000, bars: 1 };
    let chart = history.chart(window, &["IO".to_owned()]);
    assert_eq!(chart.labels, ["a", "b", "c", "d", "e", "f", OTHER]);
    assert_eq!(chart.bars, [Some(vec![2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 6.0])]);
}

#[test]
fn memory_is_bounded_in_samples_and_in_ways_to_wait() {
    let mut history = WaitHistory::new(10);
    for second in 0..2_500 {
        let waits = (0..10).map(|at| {
            session(Some(("IO", "DataFileRead")), &format!("SELECT {{q{second}x{at}}}"), "ann")
        });
        history.push(&frame(second, waits.collect()));
    }
    assert_eq!(history.span_us(), Some((2_490_000_000, 2_499_000_000)));
    assert_eq!(history.keys.len(), KEYS_MAX + 1);
    let shares = history.shares((0, i64::MAX), &["IO".to_owned()]);
    assert_eq!(shares, [WaitShare { label: OTHER.to_owned(), sessions: 10.0 }]);
}
