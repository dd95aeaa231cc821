//! The time on this machine, for screens and logs.

/// Microseconds since 1970.
pub(super) fn now_us() -> i64 {
    i64::try_from(stdx::unix_micros()).expect("the year is below 292,000")
}

/// The time of day on this machine, such as `14:05:09`.
pub(super) fn time_of_day(time_us: i64) -> String {
    let Some((_, time)) = stdx::local_time(time_us.div_euclid(1_000_000)) else {
        return "-".to_owned();
    };
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}
