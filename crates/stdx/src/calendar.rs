//! Dates of the Gregorian calendar in UTC, to and from days since the Unix epoch.
//!
//! Source: Howard Hinnant's `civil_from_days` and `days_from_civil` (chrono-compatible low-level
//! date algorithms, 2013). Never here: text, time zones, the time it is now.

const DAY_SECONDS: i64 = 86_400;

/// Returns year, month and day of so many days since the Unix epoch.
pub fn civil_from_days(days: i64) -> (u32, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as u32, month as u32, day as u32)
}

/// Returns the seconds since the Unix epoch of a UTC date (year, month, day) and time of day.
///
/// A second of 60 (a leap second) is taken as the second after.
pub fn unix_seconds(date: (u32, u32, u32), clock: (u32, u32, u32)) -> Option<i64> {
    let (year, month, day) = date;
    let (hour, minute, second) = clock;
    let sound = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let time = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    sound.then(|| days_from_civil(year, month, day) * DAY_SECONDS + time)
}

fn days_from_civil(year: u32, month: u32, day: u32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = (i64::from(month) + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
