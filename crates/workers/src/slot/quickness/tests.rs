//! How far ahead workers are given requests, after requests of these lengths.

use super::*;

/// A worker that has answered requests of so many microseconds, and has just been given another.
fn after(lengths_us: impl IntoIterator<Item = u64>) -> (Quickness, Instant) {
    let mut quickness = Quickness::default();
    let mut now = Instant::now();
    quickness.begin(now);
    for length in lengths_us {
        now += Duration::from_micros(length);
        quickness.end(now);
    }
    (quickness, now)
}

#[test]
fn a_worker_of_which_nothing_is_known_has_none_ahead() {
    let (quickness, now) = after([]);
    assert_eq!(quickness.requests_ahead(now), 0);
}

#[test]
fn as_many_are_ahead_as_fit_a_millisecond_and_at_most_sixteen() {
    let (quickness, now) = after([50; 200]);
    assert_eq!(quickness.requests_ahead(now), 16);
    let (quickness, now) = after([90; 200]);
    assert_eq!(quickness.requests_ahead(now), 11);
    let (quickness, now) = after([5_000; 200]);
    assert_eq!(quickness.requests_ahead(now), 0);
}

#[test]
fn one_long_request_ends_little_for_a_pause_of_the_machine_looks_alike() {
    let (quickness, now) = after([50; 200].into_iter().chain([20_000]));
    assert_eq!(quickness.requests_ahead(now), 2);
    let (quickness, now) = after([50; 200].into_iter().chain([20_000]).chain([50; 40]));
    assert_eq!(quickness.requests_ahead(now), 13);
}

#[test]
fn long_requests_that_come_often_end_it() {
    let mixed = |short: usize| std::iter::repeat_n(50, short).chain([20_000]);
    let (quickness, now) = after((0..40).flat_map(|_| mixed(1)));
    assert_eq!(quickness.requests_ahead(now), 0);
    let (quickness, now) = after((0..40).flat_map(|_| mixed(9)).chain([50; 3]));
    assert!(quickness.requests_ahead(now) <= 2);
}

#[test]
fn answers_that_are_read_together_count_by_their_mean() {
    let burst = || [750].into_iter().chain([1; 15]);
    let (quickness, now) = after((0..40).flat_map(|_| burst()));
    assert_eq!(quickness.requests_ahead(now), 16);
}

#[test]
fn none_goes_to_a_worker_that_is_at_a_request_for_longer_than_usual() {
    let (quickness, now) = after([50; 200]);
    assert_eq!(quickness.requests_ahead(now + Duration::from_millis(1)), 16);
    assert_eq!(quickness.requests_ahead(now + Duration::from_micros(1_001)), 0);
}

#[test]
fn time_without_requests_is_no_requests_length() {
    let (mut quickness, now) = after([50; 200]);
    let later = now + Duration::from_secs(60);
    quickness.begin(later);
    quickness.end(later + Duration::from_micros(50));
    assert_eq!(quickness.requests_ahead(later + Duration::from_micros(60)), 16);
}
