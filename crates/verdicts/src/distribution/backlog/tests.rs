//! What a fixed rate of sending makes goes down in the order of the calls; what a timer makes does
//! not.

use super::is_backlog;
use crate::distribution::fit::CombLine;
use crate::random::Draw;

fn line(quantum: f64) -> CombLine {
    CombLine { quantum, origin: 0.0, jitter: 0.1 * quantum, margin: 0.01, is_straight: true }
}

/// Pauses that calls every 10 ms wait for the end of, and fast calls between.
fn pauses(draw: &mut Draw) -> Vec<f64> {
    let mut calls = Vec::new();
    for _ in 0..20 {
        let mut left = 300.0 * draw.exponential();
        while left > 0.0 {
            calls.push(left + 2.0 + 0.3 * draw.normal());
            left -= 10.0;
        }
        calls.extend((0..30).map(|_| 2.0 + 0.3 * draw.normal().abs()));
    }
    calls
}

#[test]
fn pauses_at_a_fixed_rate_are_a_backlog_by_any_multiple_of_the_interval() {
    let calls = pauses(&mut Draw::new(1, 0));
    for quantum in [5.0, 10.0, 20.0, 30.0] {
        assert!(is_backlog(&calls, &calls, &line(quantum), 1e-6), "{quantum}");
    }
}

#[test]
fn what_corrects_for_coordinated_omission_is_a_backlog_by_any_fraction_of_the_interval() {
    let mut draw = Draw::new(3, 0);
    let mut calls = Vec::new();
    while calls.len() < 5_000 {
        let mut left = match calls.len() % 50 {
            0 => 200.0 * draw.exponential(),
            _ => 5.0 * (0.4 * draw.normal()).exp(),
        };
        calls.push(left);
        while left > 10.0 {
            left -= 10.0;
            calls.push(left);
        }
    }
    for quantum in [10.0 / 3.0, 4.0, 5.0, 10.0] {
        assert!(is_backlog(&calls, &calls, &line(quantum), 1e-6), "{quantum}");
    }
}

#[test]
fn pauses_in_any_order_are_known_by_their_exact_distances() {
    let mut draw = Draw::new(2, 0);
    let mut calls: Vec<f64> = Vec::new();
    for _ in 0..20 {
        let pause = 200.0 * draw.exponential();
        calls.extend((0..=(pause / 10.0) as u32).map(|late| pause - 10.0 * f64::from(late)));
    }
    calls.sort_unstable_by(f64::total_cmp);
    assert!(is_backlog(&calls, &calls, &line(10.0), 1e-9));
}

#[test]
fn pauses_in_any_order_are_known_by_their_evenness_by_any_fraction_of_the_interval() {
    for seed in 0..20 {
        let calls = pauses(&mut Draw::new(seed, 0));
        for quantum in [5.0, 20.0 / 3.0, 10.0, 20.0] {
            assert!(is_backlog(&[], &calls, &line(quantum), 1e-6), "{quantum}, seed {seed}");
        }
    }
}

#[test]
fn teeth_that_calls_meet_by_chance_or_in_turn_are_no_backlog_without_an_order() {
    for teeth in [3, 6, 10, 20] {
        for seed in 0..50 {
            let mut draw = Draw::new(seed, teeth);
            let mut by_chance: Vec<f64> = (0..1_000)
                .map(|_| 10.0 * (1 + draw.below(teeth as usize)) as f64 + 0.5 * draw.normal())
                .collect();
            let line = CombLine { jitter: 0.5, ..line(10.0) };
            assert!(!is_backlog(&[], &by_chance, &line, 1e-6), "{teeth} teeth, seed {seed}");
            by_chance.extend((0..1_000).map(|_| 10.0 * teeth as f64 * draw.fraction()));
            assert!(!is_backlog(&[], &by_chance, &line, 1e-6), "beside {teeth}, seed {seed}");
            let in_turn: Vec<f64> = (0..1_000)
                .map(|call| 10.0 * (1 + call % teeth) as f64 + 0.5 * draw.normal())
                .collect();
            assert!(!is_backlog(&[], &in_turn, &line, 1e-6), "{teeth} in turn, seed {seed}");
        }
    }
}

#[test]
fn teeth_that_calls_meet_in_any_order_are_no_backlog() {
    for teeth in [3, 6, 10] {
        for seed in 0..50 {
            let mut draw = Draw::new(seed, teeth);
            let calls: Vec<f64> = (0..100)
                .map(|_| 10.0 * (1 + draw.below(teeth as usize)) as f64 + 0.5 * draw.normal())
                .collect();
            assert!(!is_backlog(&calls, &calls, &line(10.0), 1e-6), "{teeth} teeth, seed {seed}");
        }
    }
}

#[test]
fn a_few_pauses_among_many_calls_are_known_by_their_exact_distances_in_any_order() {
    let mut draw = Draw::new(4, 0);
    let mut calls = Vec::new();
    while calls.len() < 10_000 {
        let mut left = match draw.fraction() < 0.01 {
            true => 200.0 * draw.exponential(),
            false => 5.0 * (0.4 * draw.normal()).exp(),
        };
        calls.push(left);
        while left > 10.0 {
            left -= 10.0;
            calls.push(left);
        }
    }
    for quantum in [2.5, 5.001, 10.01, 14.96] {
        assert!(is_backlog(&[], &calls, &line(quantum), 1e-6), "{quantum}");
    }
}
