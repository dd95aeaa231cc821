//! Signals that go together with slow calls, and signals that do not.

use super::{SignalColumn, SignalLooks, Signals, signals};
use crate::random::Draw;
use crate::series::Series;
use crate::split::Split;

/// Calls each half a second on average for 20 minutes. Those are slow that meet one of 60 bursts
/// of half a second, or as many by chance. The signals are bursts, other bursts, and noise.
fn night(seed: u64, is_caused: bool) -> (Series, Signals) {
    const INTERVALS: usize = 12_000;
    let mut draw = Draw::new(seed, 7);
    let mut burst = || {
        let mut values = vec![0_f32; INTERVALS];
        for _ in 0..60 {
            let at = draw.below(INTERVALS - 5);
            values[at..at + 5].iter_mut().for_each(|value| *value += 40.0);
        }
        values
    };
    let (reason, other) = (burst(), burst());
    let noise: Vec<f32> = (0..INTERVALS).map(|_| draw.exponential() as f32).collect();
    let mut series = Series::default();
    let mut at_ms = 0.0;
    while at_ms < INTERVALS as f64 * 100.0 - 2_000.0 {
        let met = reason[(at_ms / 100.0) as usize] > 0.0;
        let slow = if is_caused { met } else { draw.fraction() < 0.03 };
        let ms = 20.0 + 4.0 * draw.exponential() + if slow { 300.0 } else { 0.0 };
        series.began_ms.push(at_ms);
        series.total_ms.push(ms);
        at_ms += 500.0 * draw.exponential();
    }
    let column = |name: &str, values| SignalColumn {
        name: name.into(),
        unit: "ms".into(),
        values,
        ..SignalColumn::default()
    };
    let columns =
        vec![column("noise", noise), column("another burst", other), column("burst", reason)];
    (series, Signals { interval_ms: 100.0, columns, ..Signals::default() })
}

fn looks(seed: u64, is_caused: bool) -> SignalLooks {
    let (series, found) = night(seed, is_caused);
    let split = Split::new(&series.total_ms, Some(150.0));
    signals(&series, &split, &found, seed)
}

#[test]
fn a_burst_that_slow_calls_meet_is_named_with_what_it_explains() {
    for seed in 1..=5 {
        let found = looks(seed, true);
        let first = &found.looks[0];
        assert_eq!(first.signal, "burst", "{found:#?}");
        assert!(first.is_significant() && first.explained > 0.8, "{first:#?}");
        assert!(first.ci[0] <= first.explained && first.explained <= first.ci[1], "{first:#?}");
        assert!(first.slow > 5.0 * first.typical, "{first:#?}");
        let others = &found.looks[1..];
        assert!(others.iter().all(|look| !look.is_significant()), "{others:#?}");
    }
}

#[test]
fn signals_that_know_nothing_of_slow_calls_are_seldom_blamed() {
    let blamed = (1..=60).filter(|seed| looks(*seed, false).looks[0].is_significant()).count();
    assert!(blamed <= 4, "{blamed} of 60");
}

#[test]
fn a_signal_that_comes_after_the_slow_calls_is_seen_to_follow() {
    let (series, mut found) = night(3, true);
    found.columns[2].values.rotate_right(5);
    let split = Split::new(&series.total_ms, Some(150.0));
    let looks = signals(&series, &split, &found, 3);
    let late = looks.looks.iter().find(|look| look.signal == "burst");
    assert!(late.is_some_and(|look| look.lag_ms > 0.0), "{looks:#?}");
}

#[test]
fn of_signals_that_explain_as_much_the_earliest_is_named_first() {
    let (series, mut found) = night(3, true);
    // Earlier by two intervals, and absent from one burst in thirty.
    let mut early = found.columns[2].clone();
    early.name = "starts".into();
    early.values.rotate_left(2);
    early.values[..400].fill(0.0);
    found.columns.push(early);
    let split = Split::new(&series.total_ms, Some(150.0));
    let looks = signals(&series, &split, &found, 3).looks;
    assert_eq!([&*looks[0].signal, &*looks[1].signal], ["starts", "burst"], "{looks:#?}");
    assert!(looks[0].explained < looks[1].explained, "{looks:#?}");
}

#[test]
fn too_few_slow_calls_and_constant_signals_are_said_to_be_so() {
    let (mut series, mut found) = night(4, true);
    found.columns[0].values.fill(3.0);
    let split = Split::new(&series.total_ms, Some(150.0));
    assert_eq!(signals(&series, &split, &found, 1).constant, ["noise"]);
    let none = Split::new(&series.total_ms, Some(1e9));
    let reason = signals(&series, &none, &found, 1).reason;
    assert!(reason.is_some_and(|reason| reason.contains("at least 5")));
    series.began_ms.clear();
    let reason = signals(&series, &split, &found, 1).reason;
    assert!(reason.is_some_and(|reason| reason.contains("times")));
}
