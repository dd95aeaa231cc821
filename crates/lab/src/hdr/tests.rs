//! The files that other tools read.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::{IntervalLog, nanoseconds, write_percentiles};

#[test]
fn the_percentile_distribution_is_in_milliseconds_and_ends_with_the_whole() {
    let mut histogram = nanoseconds();
    (1..=1000).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
    let mut text = Vec::new();
    write_percentiles(&histogram, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
    assert_eq!(lines[2], "       1.000 0.000000000000          1           1.00");
    let last = lines.iter().rev().find(|line| !line.starts_with('#')).unwrap();
    assert_eq!(*last, "    1000.342 1.000000000000       1000");
    assert!(text.contains("#[Mean    =      500."), "{text}");
    assert!(text.contains("Total count    =         1000]"), "{text}");
}

#[test]
fn the_interval_log_is_read_again_as_it_was_written() {
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_325_652_500);
    let mut log = IntervalLog::new(Vec::new(), start).unwrap();
    let mut histogram = nanoseconds();
    histogram.record(5_000_000).unwrap();
    let second = Duration::from_secs(1);
    log.interval(Duration::ZERO, second, &histogram).unwrap();
    log.interval(second, second, &nanoseconds()).unwrap();
    let text = String::from_utf8(log.out).unwrap();
    assert!(text.contains("#[StartTime: 1795325652.500 (seconds since epoch), 2026-11-22T"));
    let intervals: Vec<_> = IntervalLogIterator::new(text.as_bytes())
        .filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        })
        .collect();
    assert_eq!(intervals.len(), 2);
    assert_eq!(intervals[1].start_timestamp(), second);
    assert!((intervals[0].max() - 5.0).abs() < 0.01);
}
