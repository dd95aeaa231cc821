//! That an age is counted from what came last, and before that from the start.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::LastReceived;

#[test]
fn an_age_is_that_of_what_came_last_or_of_the_start() {
    let hour = Duration::from_secs(3_600);
    let started = Instant::now().checked_sub(hour).expect("the machine ran for longer");
    let last = LastReceived { started, after_us: AtomicU64::new(0) };
    assert!(last.age() >= hour);
    last.note();
    assert!(last.age() < hour);
}
