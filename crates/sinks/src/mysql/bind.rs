//! Turns sanitised values into those of MySQL's binary protocol, and estimates their bytes.
//!
//! Times become dates in UTC. Panics for years outside 0 to 65535; `sanitise.rs` keeps them within
//! 1000 to 9999.

use mysql_async::Value as Bound;
use stdx::calendar::{CivilDate, civil_from_days};

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
    let CivilDate { year, month, day } = civil_from_days(days);
    let (seconds, us) = ((us / 1_000_000) as u32, us % 1_000_000);
    let small = |number: u32| u8::try_from(number).expect("a part of a date is small");
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

#[cfg(test)]
mod tests;
