//! Says what time it is on this machine, and what time of day it was, for screens and logs.

/// Microseconds since 1970.
pub(super) fn now_us() -> i64 {
    i64::try_from(stdx::unix_micros()).expect("the year is below 292,000")
}

/// The time of day in this machine's zone, such as `14:05:09`, of microseconds since 1970. The
/// server's clock counted them, so a clock that is wrong there is seen.
pub(super) fn time_of_day(time_us: i64) -> String {
    let Some((_, time)) = stdx::local_time(time_us.div_euclid(1_000_000)) else {
        return "-".to_owned();
    };
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}
