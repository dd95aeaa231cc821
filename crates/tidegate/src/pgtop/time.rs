//! Says what time of day it was on this machine, for headers.

/// The time of day in this machine's zone, such as `14:05:09`, of microseconds since 1970. The
/// server's clock counted them, so a clock that is wrong there is seen.
pub(super) fn time_of_day(time_us: i64) -> String {
    let Some((_, time)) = stdx::local_time(time_us.div_euclid(1_000_000)) else {
        return "-".to_owned();
    };
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}
