//! Reads HTTP dates in their three forms (RFC 9110 §5.6.7); `None` if invalid or before 1970.
//!
//! It is lenient as peers are: letters may be in any case, blanks may surround the date, and its
//! weekday may be wrong. Everything else must follow the grammar, because an invalid `Expires`
//! means expired (`gateway::freshness`). Other callers ignore an invalid date. A year of two digits
//! is the latest one at most 50 years ahead, by the clock of this machine. A leap second counts as
//! the second after it. Never here: writing dates (`chassis::http`), the calendar
//! (`stdx::calendar`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stdx::calendar::{CivilDate, TimeOfDay, unix_seconds};

const MONTHS: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";

/// Returns the time of a date; `None` when `text` is no valid date, or one before 1970.
pub fn parse(text: &[u8]) -> Option<SystemTime> {
    let lower = text.trim_ascii().to_ascii_lowercase();
    let comma = lower.iter().position(|b| *b == b',');
    let seconds = match comma {
        Some(3) => fixdate(&lower[3..])?,
        Some(at) => rfc850(&lower[at..])?,
        None => asctime(&lower)?,
    };
    u64::try_from(seconds).ok().map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds))
}

/// `, 06 Nov 1994 08:49:37 GMT`
fn fixdate(text: &[u8]) -> Option<i64> {
    let is_shaped = text.len() == 26
        && text.starts_with(b", ")
        && (text[4], text[8], text[13]) == (b' ', b' ', b' ')
        && text.ends_with(b" gmt");
    if !is_shaped {
        return None;
    }
    let (year, month) = (number(&text[9..13])?, month(&text[5..8])?);
    let date = CivilDate { year, month, day: number(&text[2..4])? };
    unix_seconds(date, clock(&text[14..22])?)
}

/// `, 06-Nov-94 08:49:37 GMT`: a date more than 50 years ahead belongs to the 1900s.
fn rfc850(text: &[u8]) -> Option<i64> {
    let is_shaped = text.len() == 24
        && text.starts_with(b", ")
        && (text[4], text[8], text[11]) == (b'-', b'-', b' ')
        && text.ends_with(b" gmt");
    if !is_shaped {
        return None;
    }
    let short = number(&text[9..11])?;
    let seconds = |year| {
        let date = CivilDate { year, month: month(&text[5..8])?, day: number(&text[2..4])? };
        unix_seconds(date, clock(&text[12..20])?)
    };
    let ahead = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() as i64 + 50 * 31_556_952;
    seconds(2000 + short).filter(|seconds| *seconds <= ahead).or_else(|| seconds(1900 + short))
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &[u8]) -> Option<i64> {
    let is_shaped = text.len() == 24
        && text[..3].iter().all(u8::is_ascii_lowercase)
        && (text[3], text[7], text[10], text[19]) == (b' ', b' ', b' ', b' ');
    if !is_shaped {
        return None;
    }
    let day = text[8..10].strip_prefix(b" ").unwrap_or(&text[8..10]);
    let date =
        CivilDate { year: number(&text[20..24])?, month: month(&text[4..7])?, day: number(day)? };
    unix_seconds(date, clock(&text[11..19])?)
}

fn clock(text: &[u8]) -> Option<TimeOfDay> {
    let colons = (text[2], text[5]) == (b':', b':');
    let (hour, minute) = (number(&text[..2])?, number(&text[3..5])?);
    let time = TimeOfDay { hour, minute, second: number(&text[6..8])? };
    colons.then_some(time)
}

fn month(name: &[u8]) -> Option<u32> {
    (1..).zip(MONTHS.chunks(3)).find(|(_, known)| *known == name).map(|(number, _)| number)
}

fn number(digits: &[u8]) -> Option<u32> {
    let push =
        |sum: u32, digit: &u8| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'));
    digits.iter().try_fold(0, push)
}

#[cfg(test)]
mod tests;
