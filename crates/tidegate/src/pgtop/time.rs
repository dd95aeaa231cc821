//! The time of day on this machine, for screens and logs.

/// The time of day on this machine, such as `14:05:09`.
pub(super) fn time_of_day(time_us: i64) -> String {
    let Some((_, time)) = stdx::local_time(time_us.div_euclid(1_000_000)) else {
        return "-".to_owned();
    };
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}
