//! Claims about when the directories are looked through.

use std::time::{Duration, Instant};

use super::{SCAN_INTERVAL, SCAN_SHARE, ScanSchedule};

#[test]
fn the_first_scan_is_due_and_the_next_after_its_interval() {
    let (mut schedule, now) = (ScanSchedule::default(), Instant::now());
    assert!(schedule.is_due(now) && schedule.is_requested());
    schedule.begin(now);
    schedule.end(now, now);
    assert!(!schedule.is_due(now) && !schedule.is_requested());
    assert!(!schedule.is_due(now + SCAN_INTERVAL - Duration::from_micros(1)));
    assert!(schedule.is_due(now + SCAN_INTERVAL));
}

#[test]
fn a_long_scan_is_followed_by_a_longer_pause() {
    let (mut schedule, now) = (ScanSchedule::default(), Instant::now());
    let took = SCAN_INTERVAL;
    schedule.begin(now);
    schedule.end(now, now + took);
    assert!(!schedule.is_due(now + took * (SCAN_SHARE - 1)));
    assert!(schedule.is_due(now + took * SCAN_SHARE));
}

#[test]
fn a_scan_that_is_requested_during_a_scan_is_due_at_once() {
    let (mut schedule, now) = (ScanSchedule::default(), Instant::now());
    schedule.begin(now);
    schedule.request();
    schedule.end(now, now);
    assert!(schedule.is_due(now));
}
