//! Claims about the numbers up to which purges are made, and durable.

use std::sync::Arc;
use std::time::Instant;

use testkit::FIXTURE_TIMEOUT;

use super::PurgeProgress;

#[test]
fn what_is_made_becomes_durable_and_no_number_ever_falls() {
    let progress = PurgeProgress::default();
    let numbers = || (progress.made(), progress.durable());
    assert_eq!(numbers(), (0, 0));
    progress.set_made(7);
    assert_eq!(numbers(), (7, 0));
    progress.set_durable();
    assert_eq!(numbers(), (7, 7));
    progress.set_made(3);
    progress.set_durable();
    assert_eq!(numbers(), (7, 7));
    // Without a wait: what is not durable at the deadline is not.
    let waits = |number| progress.wait_durable(number, Instant::now());
    assert_eq!([0, 6, 7, 8].map(waits), [true, true, true, false]);
}

#[test]
fn who_waits_goes_on_as_soon_as_the_number_is_reached() {
    let progress = Arc::new(PurgeProgress::default());
    let waiting = std::thread::spawn({
        let progress = Arc::clone(&progress);
        move || progress.wait_durable(2, Instant::now() + FIXTURE_TIMEOUT)
    });
    for number in 1..=2 {
        progress.set_made(number);
        progress.set_durable();
    }
    assert!(waiting.join().unwrap());
}
