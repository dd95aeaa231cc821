//! That no step of the wall clock doubles a slot, stalls flushes or panics.

use std::time::Duration;

use stdx::{Clock as _, ManualClock};

use super::{FlushClock, elapsed};
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
