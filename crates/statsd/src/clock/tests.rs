//! That no step of the wall clock doubles a slot, stalls flushes or panics.

use std::time::Duration;

use stdx::{Clock as _, ManualClock};

use super::{FlushClock, Interval, elapsed, rounded_s};
use crate::flavour::Flavour;

const SECOND: u64 = 1_000_000;
const INTERVAL: Duration = Duration::from_secs(10);

/// A clock that stands at 12:00:03 or so, with nothing flushed.
fn native() -> FlushClock {
    FlushClock::new(Flavour::Native, INTERVAL, 3 * SECOND)
}

#[test]
fn native_flushes_at_multiples_of_the_interval_and_the_others_count_from_their_start() {
    let started = 1_003 * SECOND + 400_000;
    for (flavour, first_ms) in
        [(Flavour::Native, 6_600), (Flavour::Statsd, 9_600), (Flavour::Perl, 10_000)]
    {
        let mut clock = FlushClock::new(flavour, INTERVAL, started);
        let first = clock.until_next(started);
        assert_eq!(first, Duration::from_millis(first_ms), "{flavour:?}");
        let then = started + first.as_micros() as u64;
        assert_eq!(clock.until_next(then), INTERVAL);
    }
}

#[test]
fn waking_early_or_late_moves_no_flush() {
    let wall = ManualClock::at(1_000 * SECOND);
    let mut clock = native();
    wall.advance(clock.until_next(wall.unix_micros()) - Duration::from_millis(3));
    assert_eq!(clock.until_next(wall.unix_micros()), INTERVAL + Duration::from_millis(3));
    wall.advance(INTERVAL + Duration::from_millis(203));
    assert_eq!(clock.until_next(wall.unix_micros()), INTERVAL - Duration::from_millis(200));
}

#[test]
fn a_slot_is_not_flushed_again_when_the_clock_is_set_back_a_little() {
    let mut clock = native();
    assert_eq!(clock.until_next(1_001 * SECOND), Duration::from_secs(9));
    // It is 1,010 when this flush is made, and then the clock is set back by 7 s.
    assert_eq!(clock.until_next(1_003 * SECOND), Duration::from_secs(17));
}

#[test]
fn an_interval_that_was_left_keeps_its_due_time_and_the_next_has_another() {
    let started = 1_018 * SECOND + 300_000;
    let mut clock = FlushClock::new(Flavour::Native, INTERVAL, started);
    clock.go_on(1_021 * SECOND);
    let wait = clock.until_next(started);
    assert_eq!((wait, clock.due_us()), (Duration::from_millis(2_700), 1_021 * SECOND));
    assert_eq!(clock.until_next(1_021 * SECOND), Duration::from_secs(9));
    // It was an hour's, and is flushed with the first interval that is shorter.
    let mut clock = FlushClock::new(Flavour::Native, INTERVAL, started);
    clock.go_on(3_600 * SECOND);
    assert_eq!(clock.until_next(started), Duration::from_millis(1_700));
}

#[test]
fn a_slot_that_another_server_may_have_flushed_is_left_out() {
    for started in [1_011 * SECOND, 1_018 * SECOND] {
        let mut clock = FlushClock::new(Flavour::Native, INTERVAL, started);
        clock.skip_slot(started);
        clock.until_next(started);
        assert_eq!(clock.due_us(), 1_030 * SECOND);
    }
}

#[test]
fn a_start_that_is_rounded_up_brings_no_flush_at_once() {
    let started = 1_003 * SECOND + 600_000;
    let mut clock = FlushClock::new(Flavour::Statsd, INTERVAL, started);
    // As statsd 0.9: ten seconds after 1,004, the rounded start.
    assert_eq!(clock.until_next(started), Duration::from_millis(10_400));
    assert_eq!(clock.until_next(1_014 * SECOND), INTERVAL);
}

#[test]
fn steps_of_any_size_stall_no_flush_and_double_no_slot() {
    let mut random = stdx::Random::new(7);
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        let mut now = 1_700_000_000 * SECOND;
        let mut clock = FlushClock::new(flavour, INTERVAL, now);
        let mut last_due = None;
        for _ in 0..20_000 {
            let wait = clock.until_next(now);
            assert!(!wait.is_zero() && wait <= INTERVAL * 5 / 2, "{wait:?}");
            let due = now + wait.as_micros() as u64;
            assert_ne!(Some(due), last_due);
            last_due = Some(due);
            now = due + (random.fraction() * 1e5) as u64;
            let step = 10f64.powf(random.fraction() * 10.0) * SECOND as f64 / 10.0;
            now = match (random.fraction() * 4.0) as u32 {
                0 => now.saturating_sub(step as u64),
                1 => now.saturating_add(step as u64),
                _ => now,
            };
        }
    }
}

#[test]
fn times_at_both_ends_are_times() {
    for now in [0, 1, u64::MAX] {
        assert!(native().until_next(now) <= INTERVAL);
        assert!(FlushClock::new(Flavour::Statsd, INTERVAL, now).until_next(0) <= INTERVAL);
    }
    assert!(FlushClock::new(Flavour::Native, Duration::MAX, 0).until_next(u64::MAX) > INTERVAL);
}

#[test]
fn rates_are_over_the_time_that_passed_but_for_jitter() {
    let ms = Duration::from_millis;
    assert_eq!(elapsed(ms(10_050), INTERVAL), INTERVAL);
    assert_eq!(elapsed(ms(9_950), INTERVAL), INTERVAL);
    assert_eq!(elapsed(ms(17_000), INTERVAL), ms(17_000));
    assert_eq!(elapsed(ms(3_000), INTERVAL), ms(3_000));
    assert_eq!(elapsed(ms(5), INTERVAL), ms(1_000));
    assert_eq!(elapsed(ms(5), ms(200)), ms(200));
}

#[test]
fn what_was_left_is_due_then_if_that_is_to_come_within_two_and_a_half_intervals() {
    let now = 1_018 * SECOND;
    for (left_us, is_kept) in [(0, false), (1, true), (25_000_000, true), (25_000_005, false)] {
        let mut clock = FlushClock::new(Flavour::Native, INTERVAL, now);
        clock.go_on(now + left_us);
        clock.until_next(now);
        let due_us = if is_kept { now + left_us } else { 1_020 * SECOND };
        assert_eq!(clock.due_us(), due_us, "{left_us}");
    }
    for flavour in [Flavour::Statsd, Flavour::Perl] {
        let mut clock = FlushClock::new(flavour, INTERVAL, now);
        assert_eq!(clock.due_us(), 0, "nothing was asked for");
        clock.go_on(now + SECOND);
        clock.skip_slot(now);
        assert_eq!(clock.until_next(now), INTERVAL, "{flavour:?} begins anew");
    }
}

#[test]
fn a_wait_of_half_an_interval_is_no_early_flush() {
    let mut clock = native();
    clock.until_next(1_000 * SECOND);
    assert_eq!(clock.until_next(1_015 * SECOND), Duration::from_secs(5));
    assert_eq!(clock.until_next(1_025 * SECOND + 1), Duration::from_micros(14_999_999));
}

#[test]
fn a_start_that_is_rounded_by_half_a_second_waits_for_the_whole_first_interval() {
    let started = 1_003 * SECOND + 500_000;
    let mut clock = FlushClock::new(Flavour::Statsd, INTERVAL, started);
    assert_eq!(clock.until_next(started), Duration::from_millis(10_500));
    // The clock is set back by more than rounding moves a start.
    let mut clock = FlushClock::new(Flavour::Statsd, INTERVAL, started);
    assert_eq!(clock.until_next(1_000 * SECOND), Duration::from_secs(4));
}

#[test]
fn jitter_is_up_to_one_percent() {
    let ms = Duration::from_millis;
    for (real, wanted) in [(9_900, 10_000), (10_100, 10_000), (9_899, 9_899), (10_101, 10_101)] {
        assert_eq!(elapsed(ms(real), INTERVAL), ms(wanted), "{real}");
    }
}

#[test]
fn seconds_are_rounded_as_javascript_rounds() {
    for (us, s) in [(0, 0), (499_999, 0), (500_000, 1), (1_499_999, 1), (7_600_000, 8)] {
        assert_eq!(rounded_s(us), s, "{us}");
    }
}

#[test]
fn an_interval_knows_its_number_its_due_time_and_whether_backends_have_the_one_before() {
    let interval = Interval::first();
    assert_eq!((interval.number(), interval.due_us(), interval.collecting_s()), (0, 0, None));
    interval.resume(7, Duration::from_secs(3_600));
    assert!(interval.passed() >= Duration::from_secs(3_600));
    interval.set_due(1_500_000);
    assert_eq!((interval.number(), interval.due_us()), (7, 1_500_000));
    let (number, took) = interval.next();
    assert!(number == 7 && took >= Duration::from_secs(3_600), "{number} took {took:?}");
    assert!(interval.passed() < Duration::from_secs(3_600), "the next one has begun");
    assert_eq!((interval.number(), interval.due_us()), (8, 0), "it is not known yet");
    assert_eq!(interval.collecting_s(), Some(2));
    interval.handed();
    assert_eq!(interval.collecting_s(), None);
    let (number, took) = interval.next();
    assert!(number == 8 && took < Duration::from_secs(3_600), "{number} took {took:?}");
    assert_eq!(interval.collecting_s(), Some(1), "one whose time is not known is on its way, too");
}
