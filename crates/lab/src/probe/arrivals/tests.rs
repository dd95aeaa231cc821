//! Claims about when calls arrive.

use std::time::Duration;

use super::Schedule;
use crate::probe::{Arrivals, End, Plan};

const MS: u64 = 1_000_000;

fn schedule(arrivals: Arrivals, end: End) -> Schedule {
    let targets = vec!["tcp://127.0.0.1:1".parse().unwrap()];
    Schedule::new(&Plan { arrivals, seed: 7, ..Plan::of(targets, end) })
}

fn all(schedule: &mut Schedule) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(at) = schedule.next(0, false) {
        schedule.take();
        times.push(at);
    }
    times
}

#[test]
fn an_open_loop_is_the_same_whatever_the_target_does() {
    let poisson = || schedule(Arrivals::Poisson(Some(100.0)), End::Count(2000));
    let times = all(&mut poisson());
    assert_eq!(times, all(&mut poisson()));
    assert!(times.is_sorted());
    let mean_ms = *times.last().unwrap() as f64 / 1e6 / 2000.0;
    assert!((9.0..11.0).contains(&mean_ms), "{mean_ms}");
}

#[test]
fn arrivals_of_a_pause_are_left_out_and_those_of_a_count_come_later() {
    let every_ms = Arrivals::Uniform(Some(1000.0));
    let mut schedule = schedule(every_ms, End::Count(3));
    assert_eq!(schedule.next(0, false), Some(MS));
    schedule.skip_until(10 * MS);
    assert_eq!(all(&mut schedule), [10 * MS, 11 * MS, 12 * MS]);
}

#[test]
fn even_distances_end_after_the_count_or_the_time() {
    let every_ms = Arrivals::Uniform(Some(1000.0));
    assert_eq!(all(&mut schedule(every_ms, End::Count(3))), [MS, 2 * MS, 3 * MS]);
    let end = End::After(Duration::from_millis(3));
    assert_eq!(all(&mut schedule(every_ms, end)), [MS, 2 * MS]);
}

#[test]
fn a_closed_loop_waits_for_the_call_before() {
    let mut schedule = schedule(Arrivals::Closed, End::Count(2));
    assert_eq!(schedule.next(5, true), Some(5));
    schedule.take();
    assert_eq!(schedule.next(9, false), None);
    assert_eq!(schedule.next(12, true), Some(12));
    schedule.take();
    assert_eq!(schedule.next(20, true), None);
}

#[test]
fn without_a_rate_the_first_five_come_alone_and_set_it() {
    let mut schedule = schedule(Arrivals::Uniform(None), End::Count(9));
    for call in 1..=5_u64 {
        assert_eq!(schedule.next(0, false), None);
        assert!(schedule.learns());
        assert!(schedule.next(call * 1000 * MS, true).is_some());
        schedule.take();
        schedule.took(call * 100 * MS, call * 1000 * MS + 500 * MS);
    }
    // Their median is 300 ms.
    assert_eq!(schedule.rate(), Some(1e3 / 1200.0));
    assert_eq!(schedule.next(0, false), Some(5500 * MS + 1200 * MS));
}

#[test]
fn fast_calls_come_twenty_a_second_at_most() {
    let mut schedule = schedule(Arrivals::Poisson(None), End::Count(9));
    for _ in 0..5 {
        schedule.next(0, true).unwrap();
        schedule.take();
        schedule.took(MS, 0);
    }
    assert_eq!(schedule.rate(), Some(20.0));
}
