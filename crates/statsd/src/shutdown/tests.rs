//! That who waits for a time is told of the end at once, and not before.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Shutdown;

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn a_time_that_passes_is_no_end() {
    let shutdown = Shutdown::default();
    for wait in [Duration::ZERO, Duration::from_millis(5)] {
        let begun = Instant::now();
        assert!(!shutdown.ends_within(wait));
        assert!(begun.elapsed() >= wait);
    }
}

#[test]
fn the_end_comes_in_two_steps_of_which_the_second_wakes_who_waits() {
    let shutdown = Arc::new(Shutdown::default());
    let waits = Arc::clone(&shutdown);
    let begun = Instant::now();
    let thread = std::thread::spawn(move || waits.ends_within(HOUR));
    shutdown.end_receivers();
    assert!(shutdown.receivers.load(Ordering::Acquire));
    assert!(!shutdown.ends_within(Duration::ZERO), "only receivers end");
    shutdown.end_all();
    assert!(thread.join().expect("it returns"));
    assert!(shutdown.ends_within(HOUR), "it stays ended");
    assert!(begun.elapsed() < HOUR);
}
