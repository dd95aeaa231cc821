//! The watchdog's judgement; what is sent, `tests/it/service_manager.rs` receives.

use super::{Ordering, Watchdog};
use std::time::Duration;

#[test]
fn the_watchdog_misses_a_thread_that_does_not_get_on() {
    let mut watchdog = Watchdog { interval: Duration::from_secs(1), hearts: Vec::new() };
    let (first, second) = (watchdog.heart(), watchdog.heart());
    let beat = |hearts: &[&super::Heart]| {
        for heart in hearts {
            heart.beats.fetch_add(1, Ordering::Relaxed);
        }
    };
    beat(&[&first, &second]);
    assert!(watchdog.all_beat());
    beat(&[&first]);
    assert!(!watchdog.all_beat(), "the second stands still");
    beat(&[&first, &second]);
    assert!(watchdog.all_beat(), "it got on again");
    drop(second);
    beat(&[&first]);
    assert!(watchdog.all_beat(), "a thread that has ended is not waited for");
}
