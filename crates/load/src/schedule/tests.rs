//! Distances between intended send times.

use std::num::NonZeroU32;
use std::time::Duration;

use super::Schedule;
use crate::{Arrivals, Plan, Ramp, Stop, Target};

fn schedule(arrivals: Arrivals, warm_up: Duration) -> Option<Schedule> {
    let target = Target::Tcp(([127, 0, 0, 1], 1).into());
    Schedule::new(&Plan { warm_up, ..Plan::open(target, arrivals, 1, Stop::Count(1)) })
}

fn times(arrivals: Arrivals, count: usize) -> Vec<u64> {
    let mut schedule = schedule(arrivals, Duration::ZERO).unwrap();
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(schedule.peek());
        schedule.advance();
    }
    times
}

#[test]
fn uniform_arrivals_lie_at_even_distances_from_the_start() {
    let times = times(Arrivals::Uniform { rate: 1000.0 }, 4);
    assert_eq!(times, [0, 1_000_000, 2_000_000, 3_000_000]);
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_spread_of_their_law() {
    let times = times(Arrivals::Poisson { rate: 1000.0, seed: 42 }, 100_001);
    assert!(times.is_sorted());
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // An exponential timeline's deviation equals its mean; the seed is fixed, so these never vary.
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!((variance.sqrt() - 1.0).abs() < 0.02, "{variance}");
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let arrivals = Arrivals::Poisson { rate: 50.0, seed: 7 };
    assert_eq!(times(arrivals.clone(), 100), times(arrivals, 100));
}

#[test]
fn a_closed_loop_has_no_schedule() {
    assert!(schedule(Arrivals::Closed { depth: 1 }, Duration::ZERO).is_none());
}

/// From 100 to 300 a second in 10 s: 2,000 arrivals.
const RAMP: Ramp = Ramp { from: 100.0, to: 300.0, over: Duration::from_secs(10), steps: None };

fn by_second(times: &[u64], seconds: usize) -> Vec<usize> {
    let within = |second: usize| {
        let span = second as u64 * 1_000_000_000..(second as u64 + 1) * 1_000_000_000;
        times.iter().filter(|time| span.contains(time)).count()
    };
    (0..seconds).map(within).collect()
}

#[test]
fn a_ramp_reaches_its_rate_evenly_and_stays_there() {
    let times = times(Arrivals::Ramp { ramp: RAMP, seed: None }, 2_700);
    let expected = [110, 130, 150, 170, 190, 210, 230, 250, 270, 290, 300, 300_usize];
    for (count, expected) in by_second(&times, 12).into_iter().zip(expected) {
        assert!(count.abs_diff(expected) <= 1, "{count} for {expected}");
    }
}

#[test]
fn a_ramp_down_to_nothing_ends() {
    let ramp = Ramp { from: 300.0, to: 0.0, over: Duration::from_secs(2), steps: None };
    let times = times(Arrivals::Ramp { ramp, seed: None }, 310);
    assert_eq!(times.iter().filter(|time| **time <= 2_000_000_000).count(), 301);
    assert!(times.last().is_some_and(|last| *last == u64::MAX), "{:?}", times.last());
}

#[test]
fn steps_are_of_equal_length_from_the_first_rate_to_the_last() {
    let ramp = Ramp { steps: NonZeroU32::new(5), ..RAMP };
    let times = times(Arrivals::Ramp { ramp, seed: None }, 2_000);
    let counts = by_second(&times, 10);
    assert_eq!(counts, [100, 100, 150, 150, 200, 200, 250, 250, 300, 300]);
}

#[test]
fn the_ramp_of_a_poisson_process_has_the_variance_of_its_law() {
    let arrivals = Arrivals::Ramp { ramp: RAMP, seed: Some(3) };
    let counts = by_second(&times(arrivals, 2_000), 8);
    for (count, expected) in counts.iter().zip([110.0, 130.0, 150.0, 170.0, 190.0, 210.0, 230.0]) {
        let deviations = (*count as f64 - expected) / f64::sqrt(expected);
        assert!(deviations.abs() < 3.5, "{counts:?}");
    }
}

#[test]
fn a_ramp_begins_when_the_warm_up_ends() {
    let arrivals = Arrivals::Ramp { ramp: RAMP, seed: None };
    let mut schedule = schedule(arrivals, Duration::from_secs(2)).unwrap();
    let mut times = Vec::new();
    for _ in 0..440 {
        times.push(schedule.peek());
        schedule.advance();
    }
    assert_eq!(by_second(&times, 4), [100, 100, 110, 130]);
}

#[test]
fn given_times_are_kept_and_end() {
    let arrivals = Arrivals::At([5, 5, 9].into());
    assert_eq!(times(arrivals, 4), [5, 5, 9, u64::MAX]);
}
