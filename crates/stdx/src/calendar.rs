//! Computes dates of the Gregorian calendar in UTC from days since the Unix epoch, and back to
//! seconds.
//!
//! Source: Howard Hinnant's `civil_from_days` and `days_from_civil` (chrono-compatible low-level
//! date algorithms, 2013).
//! Invariant: for dates that exist, from year 0 on, both directions agree. The way back refuses
//! dates that do not exist, such as 29 February 2025. Second 60 becomes the next second.
//! Readers of logs and of HTTP's dates rely on both.
//! Who calls `unix_seconds` must be listed in `xtask/tidy/wall-clock.txt`. Refuses: text
//! (`exchange` and `http1` parse it), time zones, and the present time, which is in `clock.rs`.

const DAY_SECONDS: i64 = 86_400;

/// A date of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilDate {
    /// As written, with the century.
    pub year: u32,
    /// 1 to 12.
    pub month: u32,
    /// From 1 on.
    pub day: u32,
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay {
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 60, which is a leap second.
    pub second: u32,
}

/// Returns the date of so many days since the Unix epoch.
pub fn civil_from_days(days: i64) -> CivilDate {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    CivilDate { year: year as u32, month: month as u32, day: day as u32 }
}

/// Returns the seconds since the Unix epoch of a date and a time of day in UTC.
///
/// None when there is no such day, or no such time of day.
///
/// A leap second is taken as the second after.
pub fn unix_seconds(date: CivilDate, time: TimeOfDay) -> Option<i64> {
    let CivilDate { month, day, .. } = date;
    let TimeOfDay { hour, minute, second } = time;
    let is_sound = (1..=12).contains(&month)
        && (1..=month_days(date.year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let time = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    is_sound.then(|| days_from_civil(date) * DAY_SECONDS + time)
}

/// The days of a month.
fn month_days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_from_civil(date: CivilDate) -> i64 {
    let CivilDate { year, month, day } = date;
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = (i64::from(month) + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
