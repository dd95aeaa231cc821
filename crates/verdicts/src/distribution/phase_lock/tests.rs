//! Ticks of a clock, timers that start with the call, and senders that are in step themselves.

use super::{in_step, search};
use crate::random::Draw;
use crate::series::Series;

/// Calls at Poisson times, each as long as `length` says of its beginning.
fn poisson(count: usize, gap_ms: f64, mut length: impl FnMut(f64, &mut Draw) -> f64) -> Series {
    let mut draw = Draw::new(9, 0);
    let mut series = Series::default();
    let mut now = 0.0;
    for _ in 0..count {
        now += gap_ms * draw.exponential();
        series.began_ms.push(now);
        series.total_ms.push(length(now, &mut draw));
    }
    series
}

fn until_tick(now: f64, draw: &mut Draw) -> f64 {
    (now / 100.0).ceil() * 100.0 - now + draw.fraction()
}

#[test]
fn calls_that_wait_for_a_tick_are_locked_to_it() {
    let series = poisson(400, 130.0, until_tick);
    let lock = search(&series).unwrap();
    assert!((lock.period_ms - 100.0).abs() < 0.1, "{lock:?}");
    assert!(lock.ci_ms[0] <= 100.0 && 100.0 <= lock.ci_ms[1], "{lock:?}");
    assert!(lock.share > 0.9 && lock.p <= 0.001, "{lock:?}");
    assert_eq!(
        lock.nearest.as_deref(),
        Some(
            "one of: sleep or poll of a tenth of a second; CFS quota period (in step with a clock, \
             counted in nr_throttled)"
        )
    );
    assert_eq!(in_step(&series, 100.0), Some(true));
}

#[test]
fn a_timer_that_starts_with_the_call_is_not_locked() {
    let series =
        poisson(400, 130.0, |_, draw| 500.0 * (1 + draw.below(3)) as f64 + 3.0 * draw.fraction());
    assert_eq!(in_step(&series, 500.0), Some(false));
    assert_eq!(search(&series), None);
}

#[test]
fn nothing_is_said_of_a_sender_that_keeps_step_itself() {
    let mut series = poisson(200, 1.0, |_, draw| 3.0 + draw.fraction());
    series.began_ms = (0..200).map(|call| f64::from(call) * 100.0).collect();
    assert_eq!(in_step(&series, 100.0), None);
    assert_eq!(search(&series), None);
}

#[test]
fn a_queue_before_a_worker_of_even_pace_is_no_clock() {
    for count in [100, 600, 4_000] {
        let mut draw = Draw::new(10, 0);
        let (mut series, mut now, mut free) = (Series::default(), 0.0, 0.0_f64);
        for _ in 0..count {
            now += 60.0 * draw.exponential();
            free = free.max(now) + 50.0 + 0.2 * draw.normal();
            series.began_ms.push(now);
            series.total_ms.push(free - now);
        }
        assert_eq!(search(&series), None, "{count}");
        assert_ne!(in_step(&series, 50.0), Some(true), "{count}");
    }
}

#[test]
fn a_tick_that_few_calls_end_with_costs_too_little_to_matter() {
    let lengths = |now: f64, draw: &mut Draw| {
        let end = now + 200.0 * (0.1 * draw.normal()).exp();
        let on_tick = draw.fraction() < 0.4;
        let end = if on_tick { (end / 4.0).ceil() * 4.0 + 0.05 * draw.fraction() } else { end };
        end - now
    };
    let lock = search(&poisson(1_000, 30.0, lengths)).unwrap();
    assert!((lock.period_ms - 4.0).abs() < 0.01 && (lock.share - 0.4).abs() < 0.1, "{lock:?}");
    assert!(lock.cost.as_ref().is_some_and(|cost| cost.is_slight), "{lock:?}");
}

#[test]
fn a_tick_that_makes_calls_half_as_long_again_matters() {
    let lengths = |now: f64, draw: &mut Draw| match draw.below(2) {
        0 => 100.0 + until_tick(now + 100.0, draw),
        _ => 100.0 + 5.0 * draw.normal(),
    };
    let lock = search(&poisson(1_000, 130.0, lengths)).unwrap();
    let cost = lock.cost.unwrap();
    assert!(!cost.is_slight && cost.ci_ms[0] < 50.0 && 50.0 < cost.ci_ms[1], "{cost:?}");
}

#[test]
fn a_quota_matters_although_calls_end_late_in_its_turn_too() {
    // 50 ms of work, of which 20 ms are done in every 100 ms.
    let quota = |now: f64, draw: &mut Draw| {
        let (mut at, mut left) = (now, 50.0 + draw.fraction());
        while left > 0.0 {
            let in_turn = at.rem_euclid(100.0);
            match in_turn < 20.0 {
                true => {
                    let done = left.min(20.0 - in_turn);
                    (at, left) = (at + done, left - done);
                }
                false => at += 100.0 - in_turn,
            }
        }
        at - now
    };
    let lock = search(&poisson(200, 666.0, quota)).unwrap();
    assert!((lock.period_ms - 100.0).abs() < 0.2, "{lock:?}");
    assert!(!lock.cost.is_some_and(|cost| cost.is_slight));
}

#[test]
fn nothing_is_said_without_times_or_of_few_calls() {
    let mut series = poisson(400, 130.0, until_tick);
    series.began_ms.clear();
    assert_eq!((in_step(&series, 100.0), search(&series)), (None, None));
    assert_eq!(search(&poisson(5, 130.0, until_tick)), None);
    assert_eq!(search(&Series::default()), None);
}

#[test]
fn a_stop_now_and_then_has_the_longest_period_and_no_part_of_it() {
    for (period, length) in [(700.0, 100.0), (1_000.0, 150.0)] {
        let stopped = |now: f64, draw: &mut Draw| {
            let left = (length - now.rem_euclid(period)).max(0.0);
            left + 5.0 * (0.2 * draw.normal()).exp()
        };
        let lock = search(&poisson(4_000, 10.0, stopped)).unwrap();
        assert!((lock.period_ms / period - 1.0).abs() < 1e-3, "{lock:?}");
    }
}
