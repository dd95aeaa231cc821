//! Values as the binary protocol of MySQL takes them.

use mysql_async::Value as Bound;

use crate::sanitise::SqlValue;

const DAY: i64 = 86_400_000_000;

/// The value to bind; adds what it weighs to `bytes`.
pub(super) fn bound(value: &SqlValue<'_>, bytes: &mut usize) -> Bound {
    *bytes += 8;
    match value {
        SqlValue::Absent => Bound::NULL,
        SqlValue::Integer(number) => Bound::Int(*number),
        SqlValue::Real(number) => Bound::Double(*number),
        SqlValue::Time(us) => date(*us),
        SqlValue::Text(text) => {
            *bytes += text.len();
            Bound::Bytes(text.as_bytes().to_vec())
        }
        SqlValue::Blob(blob) => {
            *bytes += blob.len();
            Bound::Bytes(blob.to_vec())
        }
    }
}

/// Microseconds since the Unix epoch as a date in UTC.
fn date(us: i64) -> Bound {
    let (days, us) = (us.div_euclid(DAY), us.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (seconds, us) = (us / 1_000_000, us % 1_000_000);
    let small = |number: i64| u8::try_from(number).expect("a part of a date is small");
    Bound::Date(
        u16::try_from(year).expect("times are of the years 1000 to 9999"),
        small(month),
        small(day),
        small(seconds / 3600),
        small(seconds / 60 % 60),
        small(seconds % 60),
        u32::try_from(us).expect("it is below a million"),
    )
}

/// Year, month and day of a day since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months begin with March here, so that leap days come last.
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
