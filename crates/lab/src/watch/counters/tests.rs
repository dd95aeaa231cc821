//! Counters that grow, fall and appear, levels, and too many names.

use verdicts::SignalKind;

use super::{SIGNALS_MAX, SignalReadings};

/// Name, span and amount of what was reported in the present round.
fn grown(counters: &SignalReadings) -> Vec<(String, [u64; 2], f64, SignalKind)> {
    let mut all = Vec::new();
    counters.grown(&mut |it| {
        all.push((it.name.to_owned(), [it.from_ns, it.to_ns], it.amount, it.kind));
    });
    all
}

#[test]
fn a_counter_reports_what_it_grew_by_since_it_was_last_read() {
    let mut counters = SignalReadings::default();
    counters.begin(100);
    counters.counter("forks", "", 5_000.0);
    assert_eq!(grown(&counters), []);
    counters.begin(200);
    counters.begin(300);
    counters.counter("forks", "", 5_007.0);
    assert_eq!(grown(&counters), [("forks".to_owned(), [100, 300], 7.0, SignalKind::Sum)]);
}

#[test]
fn a_counter_that_fell_was_reset_and_reports_nothing() {
    let mut counters = SignalReadings::default();
    for (now_ns, reading, reports) in [(100, 50.0, 0), (200, 50.0, 1), (300, 3.0, 0)] {
        counters.begin(now_ns);
        counters.counter("forks", "", reading);
        // That it is looked at is reported once, as a growth of nothing.
        let found = grown(&counters);
        assert!(found.len() == reports && found.iter().all(|it| it.2 == 0.0), "{found:?}");
    }
    counters.begin(400);
    counters.counter("forks", "", 4.0);
    assert_eq!(grown(&counters)[0].2, 1.0);
}

#[test]
fn a_level_holds_since_the_round_before() {
    let mut counters = SignalReadings::default();
    counters.begin(100);
    counters.begin(200);
    counters.level("dirty pages", "bytes", 4_096.0);
    let expected = ("dirty pages".to_owned(), [100, 200], 4_096.0, SignalKind::Level);
    assert_eq!(grown(&counters), [expected]);
}

#[test]
fn names_beyond_the_bound_are_not_taken() {
    let mut counters = SignalReadings::default();
    counters.begin(100);
    for number in 0..SIGNALS_MAX + 3 {
        counters.level(&format!("starts of {number}"), "", 1.0);
    }
    assert_eq!(grown(&counters).len(), SIGNALS_MAX);
    assert!(counters.is_full());
}
