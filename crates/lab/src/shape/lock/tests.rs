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
    assert_eq!(lock.nearest.as_deref(), Some("CFS quota period"));
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
fn nothing_is_said_without_times_or_of_few_calls() {
    let mut series = poisson(400, 130.0, until_tick);
    series.began_ms.clear();
    assert_eq!((in_step(&series, 100.0), search(&series)), (None, None));
    assert_eq!(search(&poisson(5, 130.0, until_tick)), None);
    assert_eq!(search(&Series::default()), None);
}
